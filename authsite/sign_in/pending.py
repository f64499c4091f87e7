"""Pending logins: store, find, count attempts, spend, purge.

The key is in a cookie (`authsite.sign_in.pending`). It opens nothing, and what it leads to
has the epochs that were read before the first proof.
"""

import secrets
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    ForeignKey,
    Integer,
    String,
    Uuid,
    and_,
    bindparam,
    column,
    delete,
    exists,
    false,
    literal_column,
    or_,
    select,
    table,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import About, record, record_apart
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery, after_commit
from authsite.platform.db.base import Base
from authsite.platform.db.batches import Batch, sweep_table
from authsite.platform.http import cookies
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings
from authsite.sign_in.factors.policy import Missing, SoFar, find_missing
from authsite.sign_in.factors.state import FactorState
from authsite.sign_in.method import Pending, Target
from authsite.users.account import ACCOUNT_COLUMNS, Account
from authsite.users.models import User, user_of

# Pending logins: what was proved so far, while a further proof is missing.


class PendingLogin(Base):
    """A login that needs another proof. It opens nothing. Of its key only a hash is stored.

    It ends with ``expires_at``, with too many ``failures``, and as soon as the epoch of its user or
    client is not the one stored here. ``user_id`` is NULL where the name belongs to no user;
    ``client_id`` is NULL for a browser session. ``amr``: what was proved, separated by blanks.
    ``enroll``: the user must add a second factor. ``recognized``: since when the browser has been
    recognized; ``unrecognized``: neither the browser nor the address was. ``identity_id``: the
    identity at a provider with which the sign-in began. ``resource``: the URI of the resource that
    the tokens are for. ``auth_at``: when the first proof was given
    elsewhere, NULL for now. ``factor_version``: that of the user; the login ends when another is.
    ``session_id``: the sign-in that a mailed code was requested for; such a row is not a login.
    ``name_hash``: of the name with which a sign-in by mail began. ``registered``: the browser has
    just registered the account.
    """

    __tablename__ = "pending_logins"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    key_hash: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[uuid.UUID | None] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    user_epoch: Mapped[int | None]
    client_id: Mapped[uuid.UUID | None] = mapped_column(
        ForeignKey("clients.id", ondelete="CASCADE"), index=True
    )
    client_epoch: Mapped[int | None]
    scope: Mapped[str | None] = mapped_column(String(1024))
    remember: Mapped[bool]
    amr: Mapped[str] = mapped_column(String(200))
    enroll: Mapped[bool]
    recognized: Mapped[datetime | None]
    unrecognized: Mapped[bool]
    next: Mapped[str | None] = mapped_column(String(2048))
    identity_id: Mapped[uuid.UUID | None]
    resource: Mapped[str | None] = mapped_column(String(2048))
    auth_at: Mapped[datetime | None]
    factor_version: Mapped[int] = mapped_column(default=0, server_default="0")
    session_id: Mapped[uuid.UUID | None]
    name_hash: Mapped[str | None] = mapped_column(String(16))
    registered: Mapped[bool] = mapped_column(default=False, server_default=false())
    failures: Mapped[int]
    address: Mapped[str | None] = mapped_column(String(45))
    agent: Mapped[str | None] = mapped_column(String(200))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]


LIFETIME = timedelta(minutes=10)
MAX_FAILURES = 5


class StoredLogin(NamedTuple):
    """The row of a pending login that has not ended, and its user."""

    id: uuid.UUID
    client_id: uuid.UUID | None
    client_epoch: int | None
    scope: str | None
    remember: bool
    identity_id: uuid.UUID | None
    resource: str | None
    amr: str
    recognized: datetime | None
    unrecognized: bool
    next: str | None
    auth_at: datetime | None
    name_hash: str | None
    registered: bool
    expires_at: datetime
    recognition_version: int | None
    second_factor_at: datetime | None
    factor_version: int | None
    account: Account | None


class Counted(NamedTuple):
    """How often a pending login has been tried."""

    failures: int


# The package of clients is above this one.
_CLIENTS = table(
    "clients", column("id", Uuid()), column("epoch", Integer), column("disabled_at", Integer)
)
_IS_USER = and_(user_of(PendingLogin), User.factor_version == PendingLogin.factor_version)
_HAS_CLIENT = or_(
    PendingLogin.client_id.is_(None),
    exists()
    .select_from(_CLIENTS)
    .where(
        _CLIENTS.c.id == PendingLogin.client_id,
        _CLIENTS.c.epoch == PendingLogin.client_epoch,
        _CLIENTS.c.disabled_at.is_(None),
    )
    .correlate(PendingLogin),
)
_MAX: ColumnElement[int] = literal_column(str(MAX_FAILURES))
_KEY = bindparam("key_hash", type_=PendingLogin.__table__.c.key_hash.type)

STORED_LOGIN = PreparedQuery(
    select(
        PendingLogin.id,
        PendingLogin.client_id,
        PendingLogin.client_epoch,
        PendingLogin.scope,
        PendingLogin.remember,
        PendingLogin.identity_id,
        PendingLogin.resource,
        PendingLogin.amr,
        PendingLogin.recognized,
        PendingLogin.unrecognized,
        PendingLogin.next,
        PendingLogin.auth_at,
        PendingLogin.name_hash,
        PendingLogin.registered,
        PendingLogin.expires_at,
        User.recognition_version,
        User.second_factor_at,
        User.factor_version,
        *ACCOUNT_COLUMNS,
    )
    .outerjoin(User, _IS_USER)
    .where(
        PendingLogin.key_hash == _KEY,
        PendingLogin.session_id.is_(None),
        or_(User.id.is_not(None), PendingLogin.user_id.is_(None)),
        PendingLogin.expires_at > bindparam("now", type_=PendingLogin.__table__.c.expires_at.type),
        PendingLogin.failures < _MAX,
        _HAS_CLIENT,
    ),
    StoredLogin,
)
COUNT_ATTEMPT = PreparedQuery(
    update(PendingLogin)
    .where(PendingLogin.id == bindparam("row_id"), PendingLogin.failures < _MAX)
    .values(failures=PendingLogin.failures + literal_column("1"))
    .returning(PendingLogin.failures),
    Counted,
)
REFUND_ATTEMPT = PreparedQuery(
    update(PendingLogin)
    .where(PendingLogin.id == bindparam("row_id"), PendingLogin.failures > literal_column("0"))
    .values(failures=PendingLogin.failures - literal_column("1"))
    .returning(PendingLogin.failures),
    Counted,
)


def new_key() -> str:
    """A key of 256 random bits."""
    return secrets.token_urlsafe(32)


def store(ctx: Context, pending: Pending, failures: int = 0) -> None:
    """Insert the row in the request's transaction, unless its user or client is gone.

    ``failures``: how many further proofs were wrong in this request.
    """
    now, info, target = clock.now(), ctx.request_info, pending.target
    account = pending.account
    row = PendingLogin(
        id=pending.id,
        key_hash=_hash(pending.key),
        user_id=account.id if account else None,
        user_epoch=account.epoch if account else None,
        factor_version=pending.factors.factor_version,
        client_id=target.client_id,
        client_epoch=target.client_epoch,
        scope=target.scope,
        remember=target.remember,
        amr=" ".join(pending.amr),
        enroll=pending.enroll,
        recognized=pending.recognized,
        unrecognized=pending.unrecognized,
        next=target.next,
        identity_id=target.identity_id,
        resource=target.resource,
        auth_at=pending.auth_at,
        name_hash=pending.name_hash,
        registered=pending.registered,
        failures=failures,
        address=info.address,
        agent=info.agent,
        created_at=now,
        expires_at=now + LIFETIME,
    )
    if insert(ctx, row):
        details = {"amr": row.amr}
        _record_begun(
            ctx, {"user_id": row.user_id, "client_id": row.client_id, "details": details}, row.amr
        )


def _record_begun(ctx: Context, about: About, amr: str) -> None:
    """Record the login; where nothing was proved, once an hour for each client address."""
    if amr:
        record(ctx, Event.LOGIN_PENDING, **about)
        return

    def write() -> None:
        if ctx.limits.once_an_hour(Event.LOGIN_PENDING, ctx.limits.address):
            record_apart(ctx, Event.LOGIN_PENDING, **about)

    after_commit(ctx.db, write)


def insert(ctx: Context, row: PendingLogin) -> bool:
    """Insert the row in the request's transaction; False if its user or client is gone."""
    try:
        with ctx.db.begin_nested():
            ctx.db.add(row)
    except IntegrityError:
        return False
    return True


def find(ctx: Context, key: str) -> Pending | None:
    """The pending login of this key, read outside any transaction; None if it has ended."""
    row = STORED_LOGIN.one(ctx.database, key_hash=_hash(key), now=clock.now())
    if row is None:
        return None
    factors = FactorState(row.second_factor_at, row.factor_version or 0)
    amr = tuple(row.amr.split())
    missing = find_missing(ctx, row.account, SoFar(amr, factors, row.recognized, row.unrecognized))
    if missing is None:  # a setting has changed since then
        return None
    return Pending(
        key=key,
        account=row.account,
        recognition_version=row.recognition_version or 0,
        amr=amr,
        methods=missing.methods,
        target=Target(
            row.client_id,
            row.client_epoch,
            row.scope,
            row.remember,
            row.next,
            row.identity_id,
            resource=row.resource,
        ),
        factors=factors,
        recognized=row.recognized,
        unrecognized=row.unrecognized,
        enroll=missing.enroll,
        auth_at=row.auth_at,
        id=row.id,
        name_hash=row.name_hash,
        registered=row.registered,
        expires_at=row.expires_at,
    )


def note_proof(
    ctx: Context, pending: Pending, amr: tuple[str, ...], missing: Missing
) -> Pending | None:
    """Note in the request's transaction that ``amr`` is proved, and ``missing`` is not.

    Returns the pending login as it is then; None if it has ended.
    """
    noted = ctx.db.scalar(
        update(PendingLogin)
        .where(
            PendingLogin.key_hash == _hash(pending.key),
            PendingLogin.amr == " ".join(pending.amr),  # each proof counts once
            *_not_ended(),
        )
        .values(amr=" ".join(amr), failures=0)
        .returning(PendingLogin.id)
        .execution_options(synchronize_session=False)
    )
    if noted is None:
        return None
    return pending._replace(amr=amr, methods=missing.methods, enroll=missing.enroll)


def count_attempt(ctx: Context, row_id: uuid.UUID) -> bool:
    """Count one attempt, committed at once; whether it is one of the first `MAX_FAILURES`."""
    return COUNT_ATTEMPT.one(ctx.database, row_id=row_id) is not None


def refund_attempt(ctx: Context, row_id: uuid.UUID) -> None:
    """Undo one `count_attempt`."""
    REFUND_ATTEMPT.one(ctx.database, row_id=row_id)


def spend(ctx: Context, pending: Pending) -> bool:
    """Use the pending login up; whether it had not ended. Of concurrent requests one deletes it."""
    spent = ctx.db.scalar(
        delete(PendingLogin)
        .where(PendingLogin.key_hash == _hash(pending.key), *_not_ended())
        .returning(PendingLogin.id)
        .execution_options(synchronize_session=False)
    )
    return spent is not None


def end_begun_with(ctx: Context, user_id: uuid.UUID, identity_id: uuid.UUID) -> None:
    """End the pending logins of the user that began with this identity at a provider."""
    of_user = PendingLogin.user_id == user_id
    ctx.db.execute(delete(PendingLogin).where(of_user, PendingLogin.identity_id == identity_id))


def _not_ended() -> tuple[ColumnElement[bool], ...]:
    """The conditions of a row that can still be used, after the attempt has been counted."""
    return (
        PendingLogin.expires_at > clock.now(),
        PendingLogin.failures <= MAX_FAILURES,
        PendingLogin.session_id.is_(None),
        exists().select_from(User).where(_IS_USER).correlate(PendingLogin),
        _HAS_CLIENT,
    )


def _hash(key: str) -> str:
    """SHA-256 in hex, which is enough for 256 random bits."""
    return sha256(key.encode(errors="replace")).hexdigest()


# The cookie with the key of a pending login. It opens nothing.


MAX_LENGTH = 128


def keep_key(request: Request, key: str) -> None:
    """Set the cookie, for as long as the pending login lasts."""
    _write(request, key, int(LIFETIME.total_seconds()))


def read_key(request: Request) -> str | None:
    """The key that the browser sent, or None."""
    value = cookies.read(request, cookies.host_name(request, cookies.LOGIN))
    return value if value and len(value) <= MAX_LENGTH else None


def forget_key(request: Request) -> None:
    """Delete the cookie, if the browser has it."""
    if read_key(request) is not None:
        _write(request, "", 0)


def _write(request: Request, value: str, max_age: int) -> None:
    name = cookies.host_name(request, cookies.LOGIN)
    cookies.write(request, request.response, cookies.Cookie(name, value, max_age))


# Delete pending logins that have ended.


KEEP = timedelta(hours=24)  # after the end, for investigations


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete pending logins that have expired a day ago."""
    return sweep_table(connection, PendingLogin, PendingLogin.expires_at <= now - KEEP)
