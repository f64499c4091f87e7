"""The start page, login and logout."""

from typing import Annotated

from pydantic import Field
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite import clock
from authsite.guards import cookies
from authsite.guards.return_to import return_target
from authsite.http.bodies import Body, Identifier, Password
from authsite.http.rendering import home_path, see_other
from authsite.throttle import device

from . import sessions
from .errors import WrongCredentials
from .identifiers import counting_key
from .service import log_in

LOGIN = "authsite:templates/login/login.jinja2"


class LoginForm(Body):
    """The login form."""

    username: Identifier
    password: Password
    remember: Annotated[str, Field(max_length=8)] | None = None
    next: str | None = None
    csrf_token: str | None = None


class LogoutForm(Body):
    """The button that signs out."""

    csrf_token: str | None = None


@view_config(
    route_name="authsite.home",
    request_method="GET",
    renderer="authsite:templates/home/home.jinja2",
    permission=NO_PERMISSION_REQUIRED,
)
def home(request):
    """Who is signed in, or the way in."""
    return {}


@view_config(
    route_name="authsite.login.page",
    request_method="GET",
    renderer=LOGIN,
    permission=NO_PERMISSION_REQUIRED,
)
def show_login(request):
    """The login form; whoever is signed in already is sent on."""
    if request.signed_in:
        return see_other(request, _onward(request, request.GET.get("next")))
    return login_form(request)


def login_form(request):
    """What the form shows: where it leads on to, and what was typed before."""
    target = request.typed.get("next") or request.GET.get("next")
    return {"next": return_target(request, target)}


@view_config(
    route_name="authsite.login.page",
    request_method="POST",
    form=LoginForm,
    again=login_form,
    renderer=LOGIN,
    permission=NO_PERMISSION_REQUIRED,
)
def log_in_page(request):
    """Check the login and begin a session under a new id."""
    given, cfg = request.given, request.cfg
    account = log_in(
        request.db, request.database, cfg, request.passwords, request.attempts,
        request.login_steps, request.source, given.username, given.password,
    )  # fmt: skip
    remember = given.remember is not None
    key = account and sessions.begin(
        request.db, clock.now(), request.source, account, remember=remember
    )
    if key is None:
        raise WrongCredentials
    cookies.set_session(request, request.response, key, remember=remember)
    device.set_cookie(
        request, counting_key(given.username, cfg.login_identifiers, cfg.phone_region)
    )
    return see_other(request, _onward(request, given.next))


def show_logout(request):
    """The button again, for a form that was too old."""
    return {}


@view_config(
    route_name="authsite.logout.page",
    request_method="POST",
    form=LogoutForm,
    again=show_logout,
    renderer="authsite:templates/home/home.jinja2",
    permission=NO_PERMISSION_REQUIRED,
)
def log_out(request):
    """End the web session of this browser."""
    caller = request.signed_in
    if caller:
        sessions.end(request.db, clock.now(), request.source, caller.user.id, caller.session_id)
    cookies.clear_session(request, request.response)
    return see_other(request, home_path(request))


def _onward(request, target):
    return return_target(request, target) or request.route_path("authsite.account")
