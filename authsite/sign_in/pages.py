"""The start page, login and logout, and what every page does once a sign-in has gone on."""

from typing import Annotated, Any

from pydantic import Field
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.platform.http import arrival
from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import Body, Identifier, Password
from authsite.platform.http.forms import form_view
from authsite.platform.http.rendering import found, go_on, home_path, lead_on, see_other
from authsite.platform.http.return_to import forget_next
from authsite.platform.i18n import duration_words
from authsite.platform.rate_limit import device_cookie
from authsite.platform.request_state import Request
from authsite.sign_in.factors.remembered import target_of
from authsite.sign_in.fields import require_filled
from authsite.sign_in.method import METHODS, Pending
from authsite.sign_in.methods.passkeys.registration import can_add
from authsite.sign_in.sessions import cookies, service
from authsite.sign_in.sessions.service import BegunSession
from authsite.sign_in.wording import wording
from authsite.users.caller import signed_in

from . import notices
from .known_address import forget_address, lead_on_signed_in, onward_target
from .login_url import is_elsewhere, login_url, logout_target, onward_of
from .pending import forget_key, keep_key

LOGIN = "authsite:templates/login/login.jinja2"
FACTOR_PAGE = "authsite.login.factor"
LOGOUT = "authsite:templates/login/logout.jinja2"


class LoginForm(Body):
    """The login form."""

    username: Identifier | None = None
    password: Password | None = None
    remember: Annotated[str, Field(max_length=8)] | None = None


@view_config(
    route_name="authsite.home",
    request_method="GET",
    renderer="authsite:templates/home/home.jinja2",
    permission=NO_PERMISSION_REQUIRED,
)
def home(request: Request) -> dict[str, Any] | Response:
    """Redirect to the account or to the login page; after signing out or deleting, say so first."""
    if signed_in(request):
        return found(request, route_path(request, "authsite.account"))
    login = login_url(request)
    if request.GET.get("done") not in ("deleted", "signed-out"):
        return found(request, login)
    return {"login": login}


def login_form(request: Request) -> dict[str, Any]:
    """The form, with ``unsaved`` if a guard redirected the POST of another form here.

    ``again``: the signed-in user, if a route's ``fresh`` requires a new login. ``onward``: the
    application that the login leads to. ``passkeys``: whether one can sign in with them.
    """
    caller = signed_in(request) if _prompts(request) else None
    onward = onward_of(request)
    language = request.authsite.request_info.language
    return {
        "unsaved": request.GET.get("unsaved"),
        "again": caller and caller.user,
        "onward": onward,
        "passkeys": can_add(request.authsite.ctx),
        "label": wording(request.authsite.settings.login_identifiers).label,
        "remember_for": duration_words(request.authsite.settings.session_remember, language),
    }


def show_login(request: Request) -> dict[str, Any] | Response:
    """The login form; a signed-in user is redirected, unless a guard prompts for a new login."""
    arrival.answer(request)
    if signed_in(request) and not _prompts(request):
        return go_on(request, onward_target(request))
    url = login_url(request, request.authsite.next, prompt=_prompts(request))
    if request.GET.get("unsaved") and is_elsewhere(request, url):
        return lead_on(request, url, reason="again" if _prompts(request) else "unsaved")
    return login_form(request)


@form_view(
    "authsite.login.page",
    LoginForm,
    show=login_form,
    get=show_login,
    instead=lead_on_signed_in("username"),
    renderer=LOGIN,
    permission=NO_PERMISSION_REQUIRED,
)
def log_in_page(request: Request) -> Response:
    """Check the login and begin a session under a new id."""
    ctx = request.authsite.ctx
    given: LoginForm = request.authsite.validated
    name, password = require_filled(ctx.settings, given.username, given.password)
    target = target_of(request, remember=given.remember is not None, next=request.authsite.next)
    former_key = cookies.session_key(request)
    return lead_in(request, service.sign_in(ctx, name, password, target, former_key=former_key))


def show_logout(request: Request) -> dict[str, Any]:
    """The page with the sign-out button; opening it changes nothing. ``onward``: `next`."""
    return {"onward": logout_target(request)}


@form_view(
    "authsite.logout.page",
    show=show_logout,
    renderer=LOGOUT,
    permission=NO_PERMISSION_REQUIRED,
)
def log_out(request: Request) -> Response:
    """End the web session of this browser."""
    caller = signed_in(request)
    if caller and caller.browser_uuid:
        service.end(request.authsite.ctx, caller.acting_user().id, caller.browser_uuid)
    cookies.clear_session(request)
    if onward := logout_target(request):
        return go_on(request, onward, reason="signed out")
    return see_other(request, f"{home_path(request)}?done=signed-out")


def _prompts(request: Request) -> bool:
    return request.GET.get("prompt") == "login"


def lead_in(request: Request, outcome: BegunSession | Pending) -> Response:
    """Set the cookies of a session and lead to its page, or to the page of the next proof."""
    if isinstance(outcome, Pending):
        keep_key(request, outcome.key)
        return see_other(request, route_path(request, _page_of(request, outcome)))
    cookies.set_session(request, outcome.key, remember=outcome.target.remember)
    forget_key(request)
    notices.announce(request, outcome.user_id)
    device_cookie.set_cookie(request)
    forget_address(request)
    forget_next(request)
    return go_on(request, outcome.target.next or route_path(request, "authsite.account"))


def _page_of(request: Request, pending: Pending) -> str:
    methods = METHODS.of(request.authsite.services)
    asked = (methods[name] for name in pending.methods if name in methods)
    return next((each.page for each in asked if each.page), FACTOR_PAGE)
