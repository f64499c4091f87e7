"""Guards: a route names one (``guard="api"``), which runs before any view."""

from functools import partial

from pyramid.config import Configurator
from pyramid.events import ApplicationCreated, BeforeTraversal

from authsite.platform.context import Services
from authsite.platform.http import forms
from authsite.platform.http.api_metadata import Tag
from authsite.sign_in.errors import StepUpRequired
from authsite.sign_in.login_url import MAIL_ROUTE, ROUTE
from authsite.sign_in.sessions.cookies import presented
from authsite.users.errors import SignInEnded

from . import bearer, policy, protected_resources, reasons, route_options, step_up
from .guard_cache import RecentCallers
from .route_options import Guard, Guards

API_TAG = Tag(
    "Forward auth",
    "What a reverse proxy asks before it lets a request pass: nginx `auth_request`, Traefik "
    "ForwardAuth, Caddy `forward_auth`.",
    place=110,
)


def includeme(config: Configurator) -> None:
    """Add the route options, the guards and what enforces them, and the routes of forward auth."""
    services: Services = config.registry["authsite"]
    lifetime = services.settings.guard_cache
    # Each guard has a separate memory: a token must never be found as a browser session.
    tokens = RecentCallers(lifetime, partial(bearer.read_together, services))
    sessions = RecentCallers(lifetime)
    config.registry["authsite.guards"] = Guards(
        {
            "api": Guard(
                bearer.api_guard,
                bearer.credential,
                tokens if lifetime else None,
                services.standbys,
                bearer.find_by_standby,
            ),
            "web": Guard(
                bearer.web_guard,
                presented,
                sessions if lifetime else None,
                services.standbys,
                bearer.find_session_by_standby,
            ),
        }
    )
    config.add_reasons("guard", reasons.GuardReason)
    route_options.add_route_options(config)
    config.add_directive("add_protected_resource", protected_resources.add_protected_resource)
    config.add_request_attribute("signed_in", bearer.signed_in)
    config.add_view_deriver(policy.own_view_deriver, "authsite_own")
    # Before the body is read and anything is counted.
    config.add_view_deriver(
        policy.login_deriver,
        "authsite_personal_token",
        under="decorated_view",
        over=("authsite_body", "authsite_rate_limit"),
    )
    # Around the rate limits: the form shows their errors as well.
    config.add_view_deriver(
        forms.form_deriver,
        "authsite_form",
        under="decorated_view",
        over="authsite_rate_limit",
    )
    config.add_exception_view(bearer.sign_in_ended, context=SignInEnded)
    config.add_subscriber(route_options.check_routes, ApplicationCreated)
    config.add_subscriber(policy.enforce, BeforeTraversal)
    config.add_route("authsite.guard.api", "/v1/guard/api", guard="api")
    config.add_route("authsite.guard.web", "/v1/guard/web", errors="json")
    config.add_route("authsite.guard.any", "/v1/guard/any", errors="json")
    for name, path in {ROUTE: "/login/verify", MAIL_ROUTE: "/login/verify/mail"}.items():
        config.add_route(name, path, guard="web", unenrolled=True, unconfirmed=True, errors="html")
    config.add_exception_view(step_up.asked, context=StepUpRequired)
    config.scan(".api")
    config.scan(".step_up")
