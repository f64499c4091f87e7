"""The page that the link of an invitation opens."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from authsite.groups import members
from authsite.platform.addresses import shown
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Cause, record
from authsite.platform.context import Context
from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import Body, Consent, Identifier, MaybeEmpty, Password, Token
from authsite.platform.http.errors import FieldError
from authsite.platform.http.forms import form_view, link_view, password_check, rating
from authsite.platform.http.rendering import page_path, see_other
from authsite.platform.mail.outbox import Recipient
from authsite.platform.passwords import policy
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import find_credential
from authsite.sign_in.factors.remembered import target_of
from authsite.sign_in.identifiers import normalized_key
from authsite.sign_in.known_address import keep_address
from authsite.sign_in.login_url import login_url
from authsite.sign_in.pages import lead_in
from authsite.sign_in.sessions import cookies
from authsite.signup import service as signup
from authsite.signup.service import asked_fields
from authsite.users import service as users
from authsite.users.account import Account
from authsite.users.caller import signed_in
from authsite.users.errors import SignInEnded
from authsite.users.groups import labels
from authsite.users.groups.labels import Group, is_reserved
from authsite.users.mails import send_welcome
from authsite.users.models import User
from authsite.verification import confirmation

from . import service as links
from .conditions import open_now
from .errors import ConfirmToAccept, InvalidInvitation, OwnersDecide, SignInToAccept
from .models import Invitation

# Accept an invitation: register with the invited address, or join the group.
#
# The recipient of the mail has proved the address with its link. An account that has the address
# already may be another person's until it has confirmed it, and only its user accepts for it.


State: TypeAlias = Literal["register", "join", "sign_in", "confirm"]


class Opened(NamedTuple):
    """What a link is about.

    ``group``: the title of the group. ``holder``: the account that has the address.
    """

    id: UUID
    version: int
    email: str
    key: str
    group: str | None
    holder: Account | None


class Applicant(NamedTuple):
    """What a person who registers by invitation enters."""

    password: str
    name: str | None = None
    username: str | None = None
    phone: str | None = None
    terms_accepted: str | None = None


def open_link(ctx: Context, token: str) -> Opened:
    """What the link with ``token`` is about; opening it changes nothing.

    Raises `InvalidInvitation`.
    """
    id_, version = links.read(ctx, token)
    query = (
        select(Invitation, Group.title)
        .outerjoin(Group, Group.name == Invitation.group_name)
        .where(
            Invitation.id == id_,
            Invitation.version == version,
            *open_now(clock.now(), ctx.settings),
        )
    )
    # Apart from the transaction: on SQLite no password is hashed under the write lock.
    with Session(ctx.database.autocommit) as reading:
        found = reading.execute(query).one_or_none()
    if found is None:
        raise InvalidInvitation
    row, title = found
    holder = find_credential(ctx, row.email, ["email"])
    group = (title or row.group_name) if row.group_name else None
    return Opened(row.id, row.version, row.email, row.key, group, holder and holder.account)


def state_of(opened: Opened, account: Account | None) -> State:
    """What the person with the link, signed in as ``account`` or not, can do with it."""
    if opened.holder is None:
        return "register"
    if not opened.holder.confirmed:
        return "confirm"
    return "join" if account and _is_invited(opened, account) else "sign_in"


def register(ctx: Context, opened: Opened, given: Applicant) -> User:
    """Create the user with the invited address, which is confirmed, and use the invitation up.

    The address may be of any domain. Raises `ValidationFailed` with one entry for each error,
    `IdentifierTaken`, `InvalidInvitation`, `TooManyGroups`, and `HashCapacityExceeded`.
    """
    sign_up = _sign_up(opened, given)
    checked = signup.check_invited(ctx, sign_up)
    used = _use(ctx, opened)
    user = signup.create_invited(ctx, sign_up, checked)
    _enter(ctx, used, user.id)
    send_welcome(ctx, Recipient(user.id, user.email))
    return user


def register_errors(ctx: Context, opened: Opened, given: Applicant) -> Sequence[FieldError]:
    """What `register` finds wrong with the fields that are there, for a refused request."""
    return signup.invited_errors(ctx, _sign_up(opened, given))


def _sign_up(opened: Opened, given: Applicant) -> signup.SignUp:
    names = {"email": opened.email, "username": given.username, "phone": given.phone}
    return signup.SignUp(names, given.password, given.name, terms_accepted=given.terms_accepted)


def join(ctx: Context, opened: Opened, account: Account | None) -> None:
    """Use the invitation up for the signed-in user ``account``, who then is in the group.

    Raises `SignInToAccept` unless this is the user with the invited address, `ConfirmToAccept` if
    the address is not confirmed, `InvalidInvitation`, `TooManyGroups`, `SignInEnded`, and
    `OwnersDecide` for an administrator whom the inviter may not add to a group.
    """
    if account is None or not _is_invited(opened, account):
        raise SignInToAccept
    if not account.confirmed:
        raise ConfirmToAccept
    used = _use(ctx, opened)
    _enter(ctx, used, account.id)
    # Last, since groups are locked before users.
    user = users.lock_unchanged(ctx.db, account.id, account.epoch)
    if user is None or user.email != account.email or user.email_verified_at is None:
        raise SignInEnded
    if used.group_name and not used.may_change_groups_of(user):
        raise OwnersDecide


def _is_invited(opened: Opened, account: Account) -> bool:
    return normalized_key("email", account.email) == opened.key


class _Used(NamedTuple):
    """The values of an invitation that was used up."""

    id: UUID
    group_name: str | None
    inviter_id: UUID | None
    client_id: UUID | None

    @property
    def inviter(self) -> Cause:
        """Who has decided that the user is in the group."""
        if self.inviter_id:
            return Cause("user", str(self.inviter_id))
        return Cause("client", str(self.client_id)) if self.client_id else Cause("command")

    def may_change_groups_of(self, user: User) -> bool:
        """Whether the inviter may do so: no one for themselves, no client for an administrator.

        Any other inviter to a group is an owner, whom no one outranks, or a command.
        """
        if self.inviter_id == user.id:
            return False
        return self.client_id is None or not any(map(is_reserved, labels.names(user.labels)))


def _use(ctx: Context, opened: Opened) -> _Used:
    """Delete the invitation: of several attempts at once, one succeeds."""
    row = ctx.db.execute(
        delete(Invitation)
        .where(
            Invitation.id == opened.id,
            Invitation.version == opened.version,
            *open_now(clock.now(), ctx.settings),
        )
        .returning(
            Invitation.id, Invitation.group_name, Invitation.inviter_id, Invitation.client_id
        )
        .execution_options(synchronize_session=False)
    ).one_or_none()
    if row is None:
        raise InvalidInvitation
    return _Used(*row)


def _enter(ctx: Context, used: _Used, user_id: UUID) -> None:
    """Add the user to the group, and record that the invitation was accepted."""
    details = {"invitation": str(used.id), "inviter": used.inviter.details()["actor"]}
    if used.group_name:
        details["group"] = used.group_name
        members.add(ctx, used.group_name, user_id, used.inviter)
    record(ctx, Event.INVITATION_ACCEPTED, user_id=user_id, details=details)


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
        opened = open_link(request.authsite.ctx, token)
    except InvalidInvitation as error:
        request.authsite.record_denial(error)
        request.response.status_int = error.status
        return {"state": "invalid"}
    state = state_of(opened, _account(request))
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
        opened = open_link(ctx, given.token or "")
    except InvalidInvitation:
        return ()
    return register_errors(ctx, opened, _applicant(given)) if not opened.holder else ()


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
    opened = open_link(ctx, given.token)
    if opened.holder is not None:
        join(ctx, opened, _account(request))
        return see_other(request, page_path(request, "invitation.page", done="1"))
    user = register(ctx, opened, _applicant(given))
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
    email = open_link(request.authsite.ctx, given.token).email
    applicant = policy.Applicant(email, given.username, given.phone, given.name)
    return rating(request, given.password, applicant)


def _applicant(given: Any) -> Applicant:
    return Applicant(
        given.password or "", given.name, given.username, given.phone, given.terms_accepted
    )


def _account(request: Request) -> Account | None:
    caller = signed_in(request)
    return caller.account if caller else None
