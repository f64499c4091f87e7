"""The page that asks for a second proof after the first one: ``/login/factor``."""

from typing import Annotated, Any

from pydantic import Field, StringConstraints
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.platform.http.bodies import Body
from authsite.platform.http.forms import form_view
from authsite.platform.http.rendering import see_other
from authsite.platform.i18n import duration_words
from authsite.request_state import Request
from authsite.sign_in import gate
from authsite.sign_in.login_url import login_url
from authsite.sign_in.method import Pending, Wrong
from authsite.sign_in.pages import lead_in
from authsite.sign_in.pending_cookie import read_key
from authsite.sign_in.sessions import cookies, service
from authsite.sign_in.sessions.service import BegunSession

from . import browser, choice
from .page_errors import FactorMissing, SignInEnded, WrongFactor

FACTOR = "authsite:templates/login/factor.jinja2"
FIELDS = ("code", "credential", "enrollment", "name")  # what a method reads
Credential = Annotated[str, StringConstraints(max_length=16384)]
Short = Annotated[str, Field(max_length=64)]


class FactorForm(Body):
    """A second proof. ``remember_browser``: the user is not asked for it here for a while."""

    method: Short
    code: Short | None = None
    credential: Credential | None = None
    remember_browser: Annotated[str, Field(max_length=8)] | None = None


def find_pending(request: Request) -> Pending:
    """The pending login of this browser. Raises `SignInEnded`."""
    try:
        return gate.find_pending(request.authsite.ctx, read_key(request))
    except gate.PendingEnded:
        raise SignInEnded from None


def factor_page(request: Request) -> dict[str, Any]:
    """The page that asks for one of the methods; the query or the form names another one."""
    try:
        pending = find_pending(request)
    except SignInEnded as error:
        request.response.status_int = max(request.response.status_int, error.status)
        return {"state": "ended", "login": login_url(request, request.authsite.next)}
    return _values(request, pending)


def show_factor(request: Request) -> dict[str, Any] | Response:
    """The page; without a pending login it leads to the login page."""
    if read_key(request) is None:
        return see_other(request, login_url(request, request.authsite.next))
    return factor_page(request)


def _values(request: Request, pending: Pending) -> dict[str, Any]:
    ctx = request.authsite.ctx
    methods = choice.in_order(ctx, pending.account.id, pending.methods)
    given = request.authsite.form_data or request.GET
    wanted = given.get("method")
    shown = wanted if wanted in methods else next(iter(methods), None)
    return {
        "state": "ask" if shown else "none",
        "method": shown,
        "others": [each for each in methods if each != shown],
        "account": pending.account,
        "may_remember": browser.may_remember(ctx, pending),
        "remember_for": duration_words(
            ctx.settings.remember_factor, request.authsite.request_info.language
        ),
    }


@form_view(
    "authsite.login.factor",
    FactorForm,
    show=factor_page,
    get=show_factor,
    renderer=FACTOR,
    permission=NO_PERMISSION_REQUIRED,
)
def give_factor(request: Request) -> Response:
    """Check the proof, and begin the session, or ask for what is still missing."""
    ctx, form = request.authsite.ctx, request.authsite.validated
    pending = find_pending(request)
    given = {name: value for name in FIELDS if (value := getattr(form, name, None))}
    if not given:
        raise FactorMissing(form.method)
    former_key = cookies.session_key(request)
    try:
        done = service.resume(ctx, pending.key, form.method, given, former_key=former_key)
    except gate.PendingEnded:
        raise SignInEnded from None
    if isinstance(done, Wrong):
        raise WrongFactor(form.method, done.code)
    if isinstance(done, BegunSession) and form.remember_browser:
        if browser.may_remember(ctx, pending):
            browser.remember(request, done.user_id)
    return lead_in(request, done)
