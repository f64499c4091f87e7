"""The page that the link in a mail with a code opens."""

import secrets
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from sqlalchemy import ColumnElement, bindparam, delete, literal_column, select

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record_apart
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import Body, Token
from authsite.platform.http.forms import form_view, link_view
from authsite.platform.http.rendering import found
from authsite.platform.rate_limit import limit_subject
from authsite.platform.rate_limit.recognized import Owner
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.sign_in import gate, pending
from authsite.sign_in.credentials import owner_of_user
from authsite.sign_in.errors import PROOF_LIFETIME
from authsite.sign_in.known_address import lead_on_signed_in
from authsite.sign_in.login_url import login_url
from authsite.sign_in.method import Pending, Wrong
from authsite.sign_in.pages import lead_in
from authsite.sign_in.pending import LIFETIME, MAX_FAILURES, PendingLogin, read_key
from authsite.sign_in.sessions import cookies, service
from authsite.users.account import SignedInUser, is_old
from authsite.users.errors import SignInEnded
from authsite.users.models import User, user_of

from . import codes
from . import service as mail_code
from .mails import find_waiting
from .service import NAME, may_mail_user, put

CODE = "authsite:templates/login/code.jinja2"


class LinkForm(Body):
    """The token of the link that the page was opened with."""

    token: Token


@link_view("authsite.login.code.link", CODE)
def show_link(request: Request) -> dict[str, Any]:
    """The page of the mailed link; opening it changes nothing, as scanners of mail do.

    In the browser that has asked it has a button, elsewhere the code to type there.
    """
    return _page(request, request.matchdict["token"])


def to_login(request: Request) -> Response:
    """Without a link there is nothing to show."""
    return found(request, login_url(request))


def show_again(request: Request) -> dict[str, Any]:
    """The page after an error."""
    return _page(request, request.authsite.raw_form.get("token", ""))


@form_view(
    "authsite.login.code",
    LinkForm,
    show=show_again,
    get=to_login,
    instead=lead_on_signed_in(),
    renderer=CODE,
    permission=NO_PERMISSION_REQUIRED,
)
def press(request: Request) -> dict[str, Any] | Response:
    """Go on with the sign-in of this browser, as if its code had been typed."""
    ctx, token = request.authsite.ctx, request.authsite.validated.token
    row_id = codes.read_link(ctx.services.keys, token, clock.now())
    pending = row_id and _pending_here(request, row_id)
    if not pending:
        return _page(request, token)
    given = {"code": codes.code_of(ctx.services.keys, pending.id)}
    try:
        outcome = service.resume(
            ctx, pending.key, mail_code.NAME, given, former_key=cookies.session_key(request)
        )
    except gate.PendingEnded:
        return _page(request, "")
    return _page(request, "") if isinstance(outcome, Wrong) else lead_in(request, outcome)


def _page(request: Request, token: str) -> dict[str, Any]:
    """``state``: "here" (with ``token``), "elsewhere" (with ``code``), or "invalid"."""
    ctx = request.authsite.ctx
    row_id = codes.read_link(ctx.services.keys, token, clock.now())
    row = find_waiting(ctx.database, row_id, clock.now()) if row_id else None
    if row is None or row_id is None:
        request.response.status_int = 400
        return {"state": "invalid", "login": route_path(request, "authsite.login.page")}
    if _pending_here(request, row_id):
        return {"state": "here", "token": token}
    return {
        "state": "elsewhere",
        "code": codes.code_of(ctx.services.keys, row_id),
        "for_change": row.session_id is not None,
    }


def _pending_here(request: Request, row_id: UUID) -> Pending | None:
    """The pending login of this browser, if it is the one of the link and waits for its code."""
    ctx = request.authsite.ctx
    try:
        here = gate.find_pending(ctx, read_key(request))
    except gate.PendingEnded:
        return None
    return here if here.id == row_id and gate.accepts(ctx, here, mail_code.NAME) else None


# Codes by mail for a signed-in user, as the proof of a sensitive change.
#
# The code counts in the sign-in that has asked for it, until the next one is sent.


_MAX: ColumnElement[int] = literal_column(str(MAX_FAILURES))
_EXPIRES = PendingLogin.__table__.c.expires_at.type


class SessionCode(NamedTuple):
    """The row of a code, and the user's `recognition_version`."""

    id: UUID
    recognition_version: int


SESSION_CODE = PreparedQuery(
    select(PendingLogin.id, User.recognition_version)
    .join(User, user_of(PendingLogin))
    .where(
        PendingLogin.session_id == bindparam("session_id"),
        PendingLogin.user_id == bindparam("user_id"),
        PendingLogin.expires_at > bindparam("now", type_=_EXPIRES),
        PendingLogin.failures < _MAX,
    ),
    SessionCode,
)


class RecognitionVersion(NamedTuple):
    """The user's `recognition_version`."""

    recognition_version: int


RECOGNITION = PreparedQuery(
    select(User.recognition_version).where(User.id == bindparam("user_id")), RecognitionVersion
)


def send_to_session(ctx: Context, user: SignedInUser) -> None:
    """Mail a code to the address of a signed-in user; the one before does not count any more.

    Over the limits no mail goes out and the one before goes on counting; the answer does not show
    it. Call it before the request has written anything. Raises `SignInEnded` if the user is gone.
    """
    account, session_id, now = user.account, user.session_id, clock.now()
    fresh = not is_old(user.auth_at, PROOF_LIFETIME, now)
    if not may_mail_user(ctx, account, _owner(ctx, user), fresh=fresh):
        return
    ctx.db.execute(
        delete(PendingLogin)
        .where(PendingLogin.session_id == session_id, PendingLogin.user_id == account.id)
        .execution_options(synchronize_session=False)
    )
    row = PendingLogin(
        id=uuid4(),
        key_hash=sha256(secrets.token_bytes(32)).hexdigest(),  # no key opens it
        user_id=account.id,
        user_epoch=account.epoch,
        session_id=session_id,
        remember=False,
        amr="",
        enroll=False,
        unrecognized=False,
        failures=0,
        address=ctx.request_info.address,
        agent=ctx.request_info.agent,
        created_at=now,
        expires_at=now + LIFETIME,
    )
    if not pending.insert(ctx, row):
        raise SignInEnded
    put(ctx, row.id, account, "change_code")


def is_right(ctx: Context, user: SignedInUser, code: str) -> bool:
    """Whether ``code`` is the one that was mailed to the user for this sign-in.

    The attempt is counted before the check, for the code and for the user: call it before the
    request has written anything. Raises `TooManyAttempts`.
    """
    found = _find(ctx, user)
    owner = owner_of_user(user.account.id, found.recognition_version if found else 0)
    with ctx.limits.second_factor(owner, factor_subject(user)) as attempt:
        counted = found and pending.count_attempt(ctx, found.id)
        right = bool(found and counted and codes.is_code(ctx.services.keys, found.id, code))
        attempt.succeeded = right
    if found is None or not right:
        details = {"method": NAME, "reason": "invalid_code"}
        record_apart(ctx, Event.FACTOR_FAILED, user_id=user.account.id, details=details)
        return False
    pending.refund_attempt(ctx, found.id)
    return True


def factor_subject(user: SignedInUser) -> str:
    """Under what the wrong further proofs of a signed-in user count: the sign-in.

    So the holder of a stolen session uses up nothing that the owner needs to sign in.
    """
    return f"{limit_subject(user.account.id)} {user.session_id}"


def _owner(ctx: Context, user: SignedInUser) -> Owner:
    found = RECOGNITION.one(ctx.database, user_id=user.account.id)
    return owner_of_user(user.account.id, found.recognition_version if found else 0)


def use_up(ctx: Context, user: SignedInUser) -> bool:
    """End the code in the request's transaction; False if it has ended in the meantime.

    A request that is rolled back leaves it.
    """
    found = _find(ctx, user)
    used = found and ctx.db.scalar(
        delete(PendingLogin)
        .where(PendingLogin.id == found.id, PendingLogin.expires_at > clock.now())
        .returning(PendingLogin.id)
        .execution_options(synchronize_session=False)
    )
    return used is not None


def _find(ctx: Context, user: SignedInUser) -> SessionCode | None:
    values = {"session_id": user.session_id, "user_id": user.account.id, "now": clock.now()}
    return SESSION_CODE.one(ctx.database, **values)
