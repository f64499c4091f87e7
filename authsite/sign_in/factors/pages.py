"""The page that asks for a second proof after the first one: ``/login/factor``.

Where the user must have a second factor and has none, the page sets one up.
"""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any

from pydantic import Field
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.platform.http import cookies as http_cookies
from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import Body, Short
from authsite.platform.http.errors import ApiError, FieldError, ValidationFailed
from authsite.platform.http.forms import form_view
from authsite.platform.http.rendering import found, go_on, render_page, see_other
from authsite.platform.http.return_to import forget_next
from authsite.platform.i18n import _, duration_words
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.sign_in import gate
from authsite.sign_in.known_address import lead_on_signed_in
from authsite.sign_in.login_url import login_url
from authsite.sign_in.method import Pending, Words, Wrong, ways_of, words_of
from authsite.sign_in.methods.mail_code import service as mail_code
from authsite.sign_in.methods.passkeys import assertion
from authsite.sign_in.methods.passkeys.registration import MAX_SIZE
from authsite.sign_in.methods.totp import enrollment
from authsite.sign_in.methods.totp.enrollment import Enrollment
from authsite.sign_in.pages import FACTOR_PAGE, lead_in
from authsite.sign_in.pending import read_key
from authsite.sign_in.sessions import cookies, service
from authsite.sign_in.sessions.service import BegunSession
from authsite.users.caller import signed_in

from . import enrolling, policy, remembered, state
from . import service as factors_service
from .enrolling import BegunWithCodes
from .errors import InvalidEnrollment
from .policy import MAIL_CODE, PASSKEY

# Errors of the pages on which a second factor is given.


class WrongFactor(ValidationFailed):
    """The second proof was wrong: ``invalid_code``, ``code_used`` or ``invalid_credential``."""

    def __init__(self, words: Words, code: str) -> None:
        """``words``: of the method; ``code``: that of `Wrong`."""
        super().__init__(details=[FieldError(code, _field(words), words.after(code))])


class FactorMissing(ValidationFailed):
    """The field of the second proof is empty."""

    def __init__(self, words: Words) -> None:
        """``words``: of the method."""
        message = words.missing or words.wrong
        super().__init__(details=[FieldError("required", _field(words), message)])


def _field(words: Words) -> str | None:
    return "code" if words.label else None


class SignInEnded(ApiError):
    """The pending login has ended, or there is none in this browser."""

    status = 403
    code = "sign_in_ended"
    message = _("This took too long, or there were too many attempts. Sign in again.")
    listed = False


ASK = "authsite:templates/login/factor.jinja2"
CODES = "authsite:templates/factors/codes.jinja2"


class FactorForm(Body):
    """A second proof. ``remember_browser``: the user is not asked for it here for a while."""

    method: Short
    code: Short | None = None
    credential: Annotated[str, Field(max_length=MAX_SIZE)] | None = None
    enrollment: Annotated[str, Field(max_length=1024)] | None = None
    remember_browser: Annotated[str, Field(max_length=8)] | None = None


def find_pending(request: Request) -> Pending:
    """The pending login of this browser. Raises `SignInEnded`."""
    try:
        return gate.find_pending(request.authsite.ctx, read_key(request))
    except gate.PendingEnded:
        raise SignInEnded from None


def factor_page(request: Request) -> dict[str, Any]:
    """The page that asks for a method, sets a factor up, or says that the login has ended."""
    try:
        pending = find_pending(request)
    except SignInEnded as error:
        request.response.status_int = max(request.response.status_int, error.status)
        return {"state": "ended", "login": login_url(request, request.authsite.next)}
    if pending.adds_factor:
        return {"state": "enroll", **_enrolling(request, pending)}
    return _asking(request, pending)


def show_factor(request: Request) -> dict[str, Any] | Response:
    """The page; without a pending login it leads to the login page."""
    if read_key(request) is None:
        return see_other(request, login_url(request, request.authsite.next))
    return factor_page(request)


def to_factor(request: Request) -> Response:
    """Redirect the path of a form to the page."""
    return found(request, route_path(request, FACTOR_PAGE))


def _asking(request: Request, pending: Pending) -> dict[str, Any]:
    """One of the methods is asked for; the query or the form may name another one."""
    ctx, language = request.authsite.ctx, request.authsite.request_info.language
    methods = policy.in_order(ctx, pending)
    wanted = (request.authsite.form_data or request.GET).get("method")
    shown = wanted if wanted in methods else next(iter(methods), None)
    options = assertion.pending_options(ctx, pending) if shown == PASSKEY else None
    return {
        "state": "ask" if shown else "none",
        "method": shown,
        "words": words_of(ctx, shown),
        "others": [each for each in methods if each != shown],
        "ways": ways_of(ctx, methods),
        "address": _address(request, pending),
        "passkey_options": options,
        "sent_again": request.GET.get("sent"),
        "may_remember": remembered.may_remember(ctx, pending),
        "remember_for": duration_words(ctx.settings.remember_factor, language),
    }


def _address(request: Request, pending: Pending) -> str | None:
    """The address to show; before the first proof the one that was entered."""
    if not pending.amr or pending.account is None:
        known: str | None = request.authsite.known_address
        return known
    return pending.account.email


def _enrolling(request: Request, pending: Pending) -> dict[str, Any]:
    ctx = request.authsite.ctx
    return {
        "address": pending.user.email,
        "enrollment": _enrollment(request, pending) if enrollment.is_offered(ctx) else None,
        "passkey_options": assertion.pending_options(ctx, pending),
    }


def _enrollment(request: Request, pending: Pending) -> Enrollment:
    """A new secret, or after a wrong code the one that the app has by now."""
    ctx, given = request.authsite.ctx, request.authsite.form_data.get("enrollment")
    if given:
        try:
            return enrollment.shown_again(ctx, pending.user, pending.id, given)
        except InvalidEnrollment:
            pass
    return enrolling.begin_totp(ctx, pending)


@form_view(
    "authsite.login.factor",
    FactorForm,
    show=factor_page,
    get=show_factor,
    instead=lead_on_signed_in(),
    renderer=ASK,
    permission=NO_PERMISSION_REQUIRED,
)
def give_factor(request: Request) -> Response:
    """Check the proof, and begin the session, or ask for what is still missing."""
    form: FactorForm = request.authsite.validated
    pending = find_pending(request)
    given = {"code": form.code, "credential": form.credential}
    proof = {name: value for name, value in given.items() if value}
    if not proof:
        raise FactorMissing(words_of(request.authsite.ctx, form.method))
    if form.enrollment:
        proof["enrollment"] = form.enrollment
    try:
        done = _resume(request, pending, form.method, proof)
    except gate.PendingEnded:
        raise SignInEnded from None
    if isinstance(done, Wrong):
        raise WrongFactor(words_of(request.authsite.ctx, form.method), done.code)
    if isinstance(done, BegunWithCodes):
        return show_codes_after(request, done)
    if isinstance(done, BegunSession) and form.remember_browser:
        remembered.remember_in_browser(request, pending, done.user_id)
    return lead_in(request, done)


def _resume(
    request: Request, pending: Pending, method: str, proof: Mapping[str, str]
) -> BegunSession | BegunWithCodes | Pending | Wrong:
    ctx, former_key = request.authsite.ctx, cookies.session_key(request)
    if pending.adds_factor:
        return enrolling.resume(ctx, pending, method, proof, former_key=former_key)
    return service.resume(ctx, pending.key, method, proof, former_key=former_key)


def show_codes_after(request: Request, done: BegunWithCodes) -> Response:
    """The page with the recovery codes, once; without any, on to the page of the sign-in."""
    onward = done.begun.target.next or route_path(request, "authsite.account")
    response = lead_in(request, done.begun)
    if done.recovery_codes is None:
        return response
    return show_codes(request, done.recovery_codes, onward, added=True)


def show_codes(request: Request, codes: tuple[str, ...], onward: str, *, added: bool) -> Response:
    """The page with recovery codes that were just made, which leads to ``onward``.

    ``added``: a factor was added with them.
    """
    response: Response = request.response
    response.text = render_page(request, CODES, {"codes": codes, "onward": onward, "added": added})
    return response


@form_view(
    "authsite.login.factor.mail",
    show=factor_page,
    get=to_factor,
    instead=lead_on_signed_in(),
    renderer=ASK,
    permission=NO_PERMISSION_REQUIRED,
)
def mail_again(request: Request) -> Response:
    """Mail the code again; the answer is the same over the limits."""
    pending = find_pending(request)
    if MAIL_CODE in pending.methods:
        mail_code.send(request.authsite.ctx, pending)
    return see_other(request, route_path(request, FACTOR_PAGE, _query={"sent": "1"}))


@view_config(
    route_name="authsite.login.factor.done",
    request_method="GET",
    permission=NO_PERMISSION_REQUIRED,
)
def show_done(request: Request) -> Response:
    """Lead to the account: the recovery codes are shown once, after the form that made them."""
    return found(request, route_path(request, "authsite.account.security"))


@view_config(
    route_name="authsite.login.factor.done",
    request_method="POST",
    form=Body,
    show=None,
    permission=NO_PERMISSION_REQUIRED,
)
def go_on_after_codes(request: Request) -> Response:
    """Lead from the recovery codes to the page that the sign-in was for."""
    target = request.authsite.next or route_path(request, "authsite.account.security")
    forget_next(request)
    return go_on(request, target)


# What the account pages say before the day from which everybody needs a second factor.


SHOWN_AGAIN_AFTER = 24 * 60 * 60  # seconds


def factor_day(request: Request) -> date | None:
    """``request.authsite.factor_day``: the day, for a user without a factor who is to know it.

    None also for a day after "Later".
    """
    cfg, caller = request.authsite.settings, signed_in(request)
    day: date | None = cfg.second_factor_from
    if cfg.second_factor != "required" or day is None or caller is None or caller.account is None:
        return None
    if policy.is_required(cfg, clock.now()) or _is_put_off(request):
        return None
    ctx, user_id = request.authsite.ctx, caller.account.id
    if state.read(ctx, user_id).second_factor_at or factors_service.has_factor(ctx, user_id):
        return None
    return day


def put_off(request: Request) -> None:
    """Do not say it in this browser for a day."""
    name = http_cookies.host_name(request, http_cookies.LATER)
    http_cookies.write(request, request.response, http_cookies.Cookie(name, "1", SHOWN_AGAIN_AFTER))


def _is_put_off(request: Request) -> bool:
    return (
        http_cookies.read(request, http_cookies.host_name(request, http_cookies.LATER)) is not None
    )
