"""The page that the link of an invitation opens."""

from collections.abc import Sequence
from typing import Any

from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.platform.addresses import shown
from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import Body, Consent, Identifier, MaybeEmpty, Password, Token
from authsite.platform.http.errors import FieldError
from authsite.platform.http.forms import form_view, link_view, password_check, rating
from authsite.platform.http.rendering import page_path, see_other
from authsite.platform.passwords import policy
from authsite.platform.request_state import Request
from authsite.sign_in.factors.browser import target_of
from authsite.sign_in.known_address import keep_address
from authsite.sign_in.login_url import login_url
from authsite.sign_in.pages import lead_in
from authsite.sign_in.sessions import cookies
from authsite.signup.service import asked_fields
from authsite.users.account import Account
from authsite.users.caller import signed_in
from authsite.verification import confirmation

from . import accepting
from .errors import InvalidInvitation

INVITATION = "authsite:templates/invitations/invitation.jinja2"


class AcceptForm(Body):
    """The token; and if there is no account with the address, the fields of a registration."""

    token: Token
    password: Password | None = None
    name: MaybeEmpty | None = None
    username: Identifier | None = None
    phone: Identifier | None = None
    terms_accepted: Consent | None = None


class AcceptCheck(Body):
    """The token and the password, and whatever else of the form is filled in already."""

    token: Token
    password: Password
    name: MaybeEmpty | None = None
    username: MaybeEmpty | None = None
    phone: MaybeEmpty | None = None


def show(request: Request) -> dict[str, Any]:
    """The page of the token in the link or the form, or what is left after it was used."""
    token = (request.authsite.raw_form or request.matchdict or {}).get("token", "")
    if not token:
        done = bool(request.GET.get("done") and _account(request))
        return {"state": "done" if done else "missing"}
    try:
        opened = accepting.open_link(request.authsite.ctx, token)
    except InvalidInvitation as error:
        request.authsite.record_denial(error)
        request.response.status_int = error.status
        return {"state": "invalid"}
    state = accepting.state_of(opened, _account(request))
    back = route_path(request, "authsite.invitation.link", token=token)
    if state == "sign_in":
        keep_address(request, opened.email)  # the login page has it filled in
    return {
        "state": state,
        "token": token,
        "email": opened.email,
        "address": shown(opened.email),
        "group": opened.group,
        "asked": asked_fields(request.authsite.ctx, request.authsite.form_data),
        "login": login_url(request, back),
    }


@link_view("authsite.invitation.link", INVITATION)
def show_link(request: Request) -> dict[str, Any]:
    """The page of a link; opening it does not use it."""
    return show(request)


def judge(request: Request, given: Any) -> Sequence[FieldError]:
    """What is wrong with the other fields of a refused form: see `bodies.Judge`."""
    ctx = request.authsite.ctx
    try:
        opened = accepting.open_link(ctx, given.token or "")
    except InvalidInvitation:
        return ()
    return accepting.register_errors(ctx, opened, _applicant(given)) if not opened.holder else ()


@form_view(
    "authsite.invitation.page",
    AcceptForm,
    show=show,
    judge=judge,
    rate_limit="invitation-link",
    renderer=INVITATION,
    permission=NO_PERMISSION_REQUIRED,
)
def accept(request: Request) -> Response:
    """Register and sign in, or add the signed-in user to the group."""
    ctx, given = request.authsite.ctx, request.authsite.validated
    opened = accepting.open_link(ctx, given.token)
    if opened.holder is not None:
        accepting.join(ctx, opened, _account(request))
        return see_other(request, page_path(request, "invitation.page", done="1"))
    user = accepting.register(ctx, opened, _applicant(given))
    target = target_of(request)
    outcome = confirmation.sign_in(ctx, user, target, former_key=cookies.session_key(request))
    if outcome is None:
        keep_address(request, user.email)
        return see_other(request, page_path(request, "login.page"))
    return lead_in(request, outcome)


@password_check(
    "authsite.invitation.check", AcceptCheck, "invitation-link", permission=NO_PERMISSION_REQUIRED
)
def check(request: Request) -> dict[str, Any]:
    """Rate the password while it is typed."""
    given: AcceptCheck = request.authsite.validated
    email = accepting.open_link(request.authsite.ctx, given.token).email
    applicant = policy.Applicant(email, given.username, given.phone, given.name)
    return rating(request, given.password, applicant)


def _applicant(given: Any) -> accepting.Applicant:
    return accepting.Applicant(
        given.password or "", given.name, given.username, given.phone, given.terms_accepted
    )


def _account(request: Request) -> Account | None:
    caller = signed_in(request)
    return caller.account if caller else None
