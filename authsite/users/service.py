"""Create, find and change users, and end what was issued to them."""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, delete, insert, select, tuple_, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import InstrumentedAttribute, Session

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Cause, details_of, record
from authsite.platform.context import Context, Services
from authsite.platform.db.batches import Batch
from authsite.platform.http.request_info import RequestInfo
from authsite.platform.mail.outbox import Recipient
from authsite.platform.runtime import clock
from authsite.platform.runtime.ids import as_id
from authsite.platform.settings import Settings
from authsite.platform.user_data import USER_DATA

from . import former, mails
from .errors import IdentifierTaken, SignInEnded
from .groups import group_scopes
from .models import LoginName, Origin, User, unchanged_since
from .user_data import AT_RECOVERY

# How exact `User.last_sign_in_at` is, so that one row is not written at each of many sign-ins.
NOTED_AGAIN = timedelta(hours=1)


class NormalizedName(Protocol):
    """A login name in its normal form: an `authsite.sign_in.identifiers.Identifier`."""

    @property
    def kind(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def display(self) -> str: ...


def create(
    ctx: Context,
    names: Sequence[NormalizedName],
    password_hash: str | None,
    *,
    name: str | None = None,
    confirmed: bool = False,
    origin: Origin = "command",
    cause: Cause | None = None,
) -> User:
    """Create a user with the login names ``names``, one of them an e-mail address.

    ``cause``: of an administrator's command. Raises `IdentifierTaken` with the kinds that are
    taken. The primary key of the login names decides between concurrent requests.
    """
    now = clock.now()
    displays = {item.kind: item.display for item in names}
    user = User(
        id=uuid.uuid4(),
        email=displays["email"],
        username=displays.get("username"),
        phone=displays.get("phone"),
        name=name,
        password_hash=password_hash,
        epoch=0,
        email_verified_at=now if confirmed else None,
        language=ctx.request_info.stated_language,
        origin=origin,
        created_at=now,
        updated_at=now,
    )
    try:
        with ctx.db.begin_nested():
            ctx.db.add(user)
            ctx.db.flush()  # the login names refer to the user's row
            ctx.db.execute(
                insert(LoginName),
                [{"key": item.key, "kind": item.kind, "user_id": user.id} for item in names],
            )
            if reserved := find_reserved(ctx.settings, ctx.db, names):
                raise IdentifierTaken(sorted({item.kind for item in names if item.key in reserved}))
    except IntegrityError:
        raise IdentifierTaken(find_taken(ctx.settings, ctx.db, names)) from None
    record(ctx, Event.USER_CREATED, user_id=user.id, details=details_of(cause))
    return user


def find_taken(
    cfg: Settings, db: Session, names: Sequence[NormalizedName], user_id: uuid.UUID | None = None
) -> list[str]:
    """The kinds among ``names`` whose key is taken: by a login name of any kind, or reserved.

    ``user_id``: the user who is to have them, whose own names are not taken; None for a new one.
    """
    kinds = {item.key: item.kind for item in names}
    query = select(LoginName.key).where(LoginName.key.in_(kinds))
    if user_id is not None:
        query = query.where(LoginName.user_id != user_id)
    keys = db.scalars(query).all()
    return sorted({kinds[key] for key in (*keys, *find_reserved(cfg, db, names, user_id))})


def find_reserved(
    cfg: Settings, db: Session, names: Sequence[NormalizedName], user_id: uuid.UUID | None = None
) -> set[str]:
    """The keys of ``names`` that no user has, and yet only another one than ``user_id`` can take.

    None: a new user.
    """
    keys = [item.key for item in names]
    return {
        *former.find_reserved(db, keys, user_id),
        *former.find_reserved_username(cfg, db, names, user_id),
    }


def find(db: Session, text: str) -> User | None:
    """The user with this id or login key (for the command line)."""
    # Two queries: with an OR in one query, the database would use no index.
    if (id := as_id(text.lower())) and (found := db.get(User, id)):
        return found
    by_name = select(User).join(LoginName, LoginName.user_id == User.id)
    return db.scalars(by_name.where(LoginName.key == text.lower())).first()


class ChangedUser(NamedTuple):
    """A user whose epoch was raised, with the values after that."""

    epoch: int
    email: str
    recognition_version: int


def lock(db: Session, user_id: uuid.UUID) -> None:
    """Lock the row of a user, as an UPDATE does, until the transaction ends.

    A transaction that also changes the user's sessions or token families locks the user first.
    Otherwise two of them may wait for each other (PostgreSQL manual, 13.3.4 Deadlocks).
    """
    db.execute(select(User.id).where(User.id == user_id).with_for_update(key_share=True))


def lock_unchanged(db: Session, user_id: uuid.UUID, epoch: int) -> User | None:
    """The row of a user, locked as by `lock`; None if ``epoch`` is not theirs any more.

    ``epoch``: that of the sign-in or account that a check was made for.
    """
    unchanged = select(User).where(User.id == user_id, *unchanged_since(epoch))
    # SQLite, where the transaction has the write lock of the database, ignores the clause.
    return db.scalar(unchanged.with_for_update(key_share=True))


def end_sign_ins(
    ctx: Context,
    user_id: uuid.UUID,
    *conditions: ColumnElement[bool],
    end_reset_links: bool = False,
    forget_recognized: bool = False,
    **changes: object,
) -> ChangedUser | None:
    """Raise the epoch, which ends every token, session and pending change of the user.

    ``forget_recognized``: the account is recovered, perhaps from an intruder. No browser or address
    of the user is recognized any more (`credentials.remember_caller` then exempts that of the
    request), and what is registered `at_recovery` runs.
    ``changes``: further columns that the same UPDATE sets. Returns None, and changes nothing, if
    the user is gone or does not meet ``conditions``.
    """
    if end_reset_links:
        changes["recovery_version"] = User.recovery_version + 1
    if forget_recognized:
        changes["recognition_version"] = User.recognition_version + 1
    row = ctx.db.execute(
        update(User)
        .where(User.id == user_id, *conditions)
        .values(epoch=User.epoch + 1, **former.NONE, **changes)
        .returning(User.epoch, User.email, User.recognition_version)
        .execution_options(synchronize_session="fetch")
    ).one_or_none()
    if row and forget_recognized:
        for function in AT_RECOVERY.of(ctx.services).values():
            function(ctx, user_id)
    return ChangedUser(*row) if row else None


def replace_password(
    ctx: Context,
    user_id: uuid.UUID,
    password_hash: str,
    *conditions: ColumnElement[bool],
    notify: bool,
    forget_recognized: bool = False,
    **changes: object,
) -> ChangedUser | None:
    """Set a new password; ends everything issued under the old one, and all reset links.

    ``notify``: the user gets a mail. ``forget_recognized``, ``changes`` and the result are those of
    `end_sign_ins`. The caller records the event.
    """
    changed = end_sign_ins(
        ctx,
        user_id,
        *conditions,
        end_reset_links=True,
        forget_recognized=forget_recognized,
        password_hash=password_hash,
        updated_at=clock.now(),
        **changes,
    )
    if changed and notify:
        mails.send_password_changed(ctx, Recipient(user_id, changed.email))
    return changed


def set_password(
    ctx: Context, user_id: uuid.UUID, password_hash: str, cause: Cause | None = None
) -> None:
    """Set a new password for a user, as an administrator; forgets what is recognized."""
    if replace_password(ctx, user_id, password_hash, notify=False, forget_recognized=True):
        details = details_of(cause)
        record(ctx, Event.USER_PASSWORD_CHANGED, user_id=user_id, details=details)


def sign_out(ctx: Context, user: User, cause: Cause | None = None) -> None:
    """End all tokens and sessions of the user; the password stays."""
    if end_sign_ins(ctx, user.id):
        record(ctx, Event.USER_SIGNED_OUT, user_id=user.id, details=details_of(cause))


def disable(ctx: Context, user: User, cause: Cause | None = None) -> bool:
    """Disable the user, and end everything that was issued, reset links too.

    Returns whether the user was enabled. Raises `LastOwner`.
    """
    group_scopes.require_another(ctx.db, user.id)
    now = clock.now()
    disabled = end_sign_ins(
        ctx,
        user.id,
        User.disabled_at.is_(None),
        end_reset_links=True,
        disabled_at=now,
        updated_at=now,
    )
    if disabled is None:
        return False
    record(ctx, Event.USER_DISABLED, user_id=user.id, details=details_of(cause))
    return True


def enable(ctx: Context, user: User, cause: Cause | None = None) -> bool:
    """Enable a disabled user, who is not erased any more; whether the user was disabled."""
    now = clock.now()
    enabled = ctx.db.scalar(
        update(User)
        .where(User.id == user.id, User.disabled_at.is_not(None))
        .values(disabled_at=None, delete_at=None, updated_at=now)
        .returning(User.id)
        .execution_options(synchronize_session="fetch")
    )
    if enabled is None:
        return False
    record(ctx, Event.USER_ENABLED, user_id=user.id, details=details_of(cause))
    return True


def note_sign_in(ctx: Context, user_id: uuid.UUID, before: datetime | None, now: datetime) -> None:
    """Store that the user has signed in, unless ``before``, the stored moment, is of this hour."""
    if before is not None and before > now - NOTED_AGAIN:
        return
    ctx.db.execute(
        update(User)
        .where(User.id == user_id)
        .values(last_sign_in_at=now)
        .execution_options(synchronize_session=False)
    )


def set_language(ctx: Context, user_id: uuid.UUID, language: str, *, only_first: bool) -> None:
    """Store the language of the mails to the user; ``only_first``: unless one is stored already."""
    conditions = [User.language.is_(None)] if only_first else []
    ctx.db.execute(
        update(User)
        .where(User.id == user_id, *conditions)
        .values(language=language)
        .execution_options(synchronize_session=False)
    )


def confirm(ctx: Context, user: User, cause: Cause | None = None) -> bool:
    """Mark the user's e-mail address as confirmed; whether it was not."""
    now = clock.now()
    confirmed = ctx.db.scalar(
        update(User)
        .where(User.id == user.id, User.email_verified_at.is_(None))
        .values(email_verified_at=now, updated_at=now)
        .returning(User.id)
        .execution_options(synchronize_session="fetch")
    )
    if confirmed is None:
        return False
    record(ctx, Event.USER_CONFIRMED, user_id=user.id, details=details_of(cause))
    return True


def emails(db: Session, ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, str]:
    """The e-mail addresses of the users with these ids, as far as they exist."""
    rows = db.execute(select(User.id, User.email).where(User.id.in_(set(ids))))
    return {row.id: row.email for row in rows}


# Erase a user.


DUE = 100  # users of one batch


def erase(
    ctx: Context,
    user_id: UUID,
    epoch: int | None,
    *,
    why: str | None = None,
    cause: Cause | None = None,
    keep_username: bool = True,
) -> None:
    """Erase the user, and all that packages have registered as data of users.

    The audit trail keeps only the id. The address is free again at once, and a new account with
    it gets nothing of the old one; the username is kept from everyone for a time (`released`).
    ``why`` and ``cause`` go into the audit trail; None if the signed-in user requested it.
    ``keep_username``: false if no application can have been told it. Raises `SignInEnded` unless
    ``epoch`` is still that of the user, who is enabled; with None (an administrator) neither is
    checked. Raises `LastOwner`.
    """
    group_scopes.require_another(ctx.db, user_id)
    keys = select(LoginName.key).where(LoginName.user_id == user_id, LoginName.kind == "email")
    addresses = ctx.db.scalars(keys).all()
    conditions = () if epoch is None else unchanged_since(epoch)
    erased = ctx.db.execute(
        delete(User)
        .where(User.id == user_id, *conditions)
        .returning(User.username, User.email_verified_at)
        .execution_options(synchronize_session=False)
    ).one_or_none()
    if erased is None:
        raise SignInEnded
    if erased.username and keep_username:
        former.release(ctx, erased.username, None)
    for data in USER_DATA.of(ctx.services).values():
        if data.erase is not None:
            data.erase(ctx.db, user_id)
        # Who registers the address of another person does not own what was sent there.
        if data.erase_address is not None and erased.email_verified_at is not None:
            for address in addresses:
                data.erase_address(ctx.db, address)
    details = details_of(cause, **({"why": why} if why else {}))
    record(ctx, Event.USER_ERASED, user_id=user_id, details=details)


def erase_where(
    services: Services,
    connection: Connection,
    which: Sequence[ColumnElement[bool]],
    order: InstrumentedAttribute[Any],
    *,
    why: str,
    keep_username: bool = True,
) -> Iterator[Batch]:
    """Erase the users who meet the conditions, each in a transaction; for ``config.add_cleanup``.

    ``order``: a column that one of the conditions bounds, and whose index finds the rows.
    """
    after: list[ColumnElement[bool]] = []
    while True:
        chosen = select(order, User.id).where(*which, *after).order_by(order, User.id).limit(DUE)
        rows = connection.execute(chosen).all()
        erased = sum(
            _erase_if(services, row.id, which, why=why, keep_username=keep_username) for row in rows
        )
        yield Batch(erased, 1.0)
        if len(rows) < DUE:
            return
        after = [tuple_(order, User.id) > tuple(rows[-1])]


def _erase_if(
    services: Services,
    user_id: UUID,
    which: Sequence[ColumnElement[bool]],
    *,
    why: str,
    keep_username: bool,
) -> bool:
    """Erase the user, unless the conditions do not hold any more."""
    with Session(services.database.transactional) as db:
        ctx = Context(services, lambda: RequestInfo(agent="authsite cleanup"), lambda: db)
        if db.scalar(select(User.id).where(User.id == user_id, *which).with_for_update()) is None:
            return False
        erase(ctx, user_id, None, why=why, keep_username=keep_username)
        db.commit()
        return True
