"""The registration page."""

from typing import Any
from uuid import uuid4

from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import (
    Body,
    Consent,
    Email,
    Identifier,
    MaybeEmpty,
    Password,
    Token,
)
from authsite.platform.http.forms import form_view, password_check, rating
from authsite.platform.http.rendering import found, go_on, page_path, see_other
from authsite.platform.http.return_to import keep_next
from authsite.platform.i18n import duration_words
from authsite.platform.passwords import policy
from authsite.platform.request_state import Request
from authsite.sign_in.fields import address_hint
from authsite.sign_in.gate import PendingEnded
from authsite.sign_in.known_address import keep_address, lead_on_signed_in
from authsite.sign_in.login_url import onward_of
from authsite.sign_in.method import Target, Wrong
from authsite.sign_in.methods.mail_code import service as mail_code
from authsite.sign_in.methods.mail_code.service import CodeEnded, WrongCode
from authsite.sign_in.pages import lead_in
from authsite.sign_in.pending import keep_key, read_key
from authsite.sign_in.sessions import cookies
from authsite.sign_in.sessions import service as sessions
from authsite.users.account import account_of
from authsite.users.caller import signed_in
from authsite.verification.service import choose_page, forget_registered, keep_registered

from . import service
from .api import judge

REGISTER = "authsite:templates/signup/register.jinja2"


class RegisterForm(Body):
    """The registration form; the service reports what is missing, with all other errors."""

    email: Email = ""
    password: Password = ""
    name: MaybeEmpty | None = None
    username: Identifier | None = None
    phone: Identifier | None = None
    terms_accepted: Consent | None = None


class CodeForm(Body):
    """The code of the mail."""

    code: Token


class RegisterCheck(Body):
    """The password, and whatever else of the form is filled in already."""

    password: Password
    email: MaybeEmpty | None = None
    name: MaybeEmpty | None = None
    username: MaybeEmpty | None = None
    phone: MaybeEmpty | None = None


def register_form(request: Request) -> dict[str, Any]:
    """The form, or the note that a mail is sent. ``onward``: the application that it leads to."""
    onward = onward_of(request)
    settings, language = request.authsite.settings, request.authsite.request_info.language
    return {
        "onward": onward,
        "done": request.GET.get("done"),
        "takes_code": read_key(request) is not None,
        "asked": service.asked_fields(request.authsite.ctx, request.authsite.form_data),
        "address_hint": address_hint(settings),
        "lifetime": duration_words(settings.verification_expires_in, language),
    }


def show(request: Request) -> dict[str, Any] | Response:
    """The registration form; a signed-in user is redirected."""
    if signed_in(request):
        return go_on(request, request.authsite.next or route_path(request, "authsite.account"))
    return register_form(request)


@form_view(
    "authsite.register.page",
    RegisterForm,
    show=register_form,
    get=show,
    instead=lead_on_signed_in("email"),
    judge=judge,
    rate_limit="register-address",
    renderer=REGISTER,
    permission=NO_PERMISSION_REQUIRED,
)
def register(request: Request) -> Response:
    """Create the user and mail a link; the answer does not reveal whether the address was free."""
    ctx, code_id = request.authsite.ctx, uuid4()
    given: RegisterForm = request.authsite.validated
    made = service.sign_up(
        ctx,
        service.SignUp(
            {"email": given.email, "username": given.username, "phone": given.phone},
            given.password,
            given.name,
            choose_page(ctx),
            given.terms_accepted,
            code_id,
        ),
    )
    account = account_of(made.user) if made.user else None
    target = Target(next=request.authsite.next)
    keep_key(request, mail_code.registered(ctx, code_id, account, given.email, target))
    keep_next(request)
    keep_address(request, given.email)
    keep_registered(request, made.user, given.email)
    return see_other(request, page_path(request, "register.page", done="1"))


def show_code(request: Request) -> dict[str, Any]:
    """The note that a mail was sent, with the field for the code."""
    return {**register_form(request), "done": "1"}


def to_form(request: Request) -> Response:
    """The note, which has the form."""
    return found(request, page_path(request, "register.page", done="1"))


@form_view(
    "authsite.register.code",
    CodeForm,
    show=show_code,
    get=to_form,
    instead=lead_on_signed_in(),
    renderer=REGISTER,
    permission=NO_PERMISSION_REQUIRED,
)
def confirm(request: Request) -> Response:
    """Do with the code of the mail what its link does in this browser: confirm, and sign in."""
    given: CodeForm = request.authsite.validated
    try:
        outcome = sessions.resume(
            request.authsite.ctx,
            read_key(request),
            mail_code.NAME,
            {"code": given.code},
            former_key=cookies.session_key(request),
        )
    except PendingEnded:
        raise CodeEnded from None
    if isinstance(outcome, Wrong):
        raise WrongCode
    forget_registered(request)
    return lead_in(request, outcome)


@password_check("authsite.register.check", RegisterCheck, permission=NO_PERMISSION_REQUIRED)
def check(request: Request) -> dict[str, Any]:
    """Rate the password while it is typed."""
    given: RegisterCheck = request.authsite.validated
    applicant = policy.Applicant(given.email or "", given.username, given.phone, given.name)
    return rating(request, given.password, applicant)
