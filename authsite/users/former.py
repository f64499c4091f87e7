"""Confirmed addresses that users had before a change of address that can be taken back.

Until a row expires, no other user can take its address, so that the change can still be taken back.

A change can be taken back only if the former address had been confirmed for some time when the
change was requested (`may_restore`). Otherwise a person could register an account, change its
address to another person's, who confirms it, resets the password and uses the account, and then
take the account back with everything in it (account pre-hijacking).
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.orm import Session

from authsite.platform.context import Context
from authsite.platform.db import Database, PreparedQuery
from authsite.platform.db.batches import Batch, sweep_table
from authsite.platform.rate_limit.limiter import subject_hash, subject_key
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings

from .errors import SignInEnded
from .models import FormerAddress, ReleasedUsername, User, unchanged_since

MAX_LISTED = 5


class Reserved(NamedTuple):
    """A reserved login name."""

    key: str


RESERVED = PreparedQuery(
    select(FormerAddress.key)
    .where(
        FormerAddress.key == bindparam("key"),
        FormerAddress.user_id != bindparam("user_id"),
        FormerAddress.expires_at > bindparam("now"),
    )
    .distinct(),  # the user may have left the address more than once
    Reserved,
)


def is_reserved_apart(database: Database, key: str, user_id: UUID) -> bool:
    """Whether ``key`` is reserved for another user than ``user_id``; outside the transaction."""
    return RESERVED.one(database, key=key, user_id=user_id, now=clock.now()) is not None


class Restorable(NamedTuple):
    """An address that can be restored, and until when."""

    email: str
    expires_at: datetime


RESTORABLE = PreparedQuery(
    select(FormerAddress.email, FormerAddress.expires_at)
    .where(
        FormerAddress.user_id == bindparam("user_id"), FormerAddress.expires_at > bindparam("now")
    )
    .order_by(FormerAddress.expires_at.desc()),
    Restorable,
)


def may_restore(user: User, min_age: timedelta) -> bool:
    """Whether the present address may take back the change that is pending.

    ``min_age``: how long it must have been confirmed when the change was requested (setting
    `email-revert-min-age`). One that is not pending is requested now.
    """
    asked_at = user.pending_asked_at or clock.now()
    return user.email_verified_at is not None and user.email_verified_at + min_age <= asked_at


def find_restorable(database: Database, user_id: UUID) -> Restorable | None:
    """The address of the user that can be restored for the longest time, if there is one."""
    return RESTORABLE.one(database, user_id=user_id, now=clock.now())


class Left(NamedTuple):
    """The changes from one address that can still be taken back, of which there may be several.

    ``epoch``: that of the first. ``links_ended_at``: the latest of this address. ``confirmed_at``:
    since when the address was the user's, as far as is known.
    """

    epoch: int
    links_ended_at: datetime | None
    confirmed_at: datetime | None


def _restorable(user_id: UUID) -> tuple[ColumnElement[bool], ...]:
    """Conditions for the user's changes that can still be taken back."""
    return FormerAddress.user_id == user_id, FormerAddress.expires_at > clock.now()


def find_left(db: Session, user_id: UUID, key: str) -> Left | None:
    """The user's changes from the address ``key`` that can still be taken back."""
    epoch, *times = db.execute(
        select(
            func.min(FormerAddress.epoch),
            func.max(FormerAddress.links_ended_at),
            func.min(FormerAddress.confirmed_at),
        ).where(*_restorable(user_id), FormerAddress.key == key)
    ).one()
    return None if epoch is None else Left(epoch, *times)


def list_first(db: Session, user_id: UUID) -> Sequence[FormerAddress]:
    """The user's addresses that can still be restored, at most `MAX_LISTED`: the oldest first."""
    return db.scalars(
        select(FormerAddress)
        .where(*_restorable(user_id))
        .order_by(FormerAddress.epoch)
        .limit(MAX_LISTED)
    ).all()


def find_keys(db: Session, user_id: UUID) -> Sequence[str]:
    """The keys of all addresses of the user that can still be restored."""
    return db.scalars(select(FormerAddress.key).where(*_restorable(user_id)).distinct()).all()


def find(db: Session, id_: UUID) -> FormerAddress | None:
    """The former address of this change; None if it has expired, or the user is disabled."""
    return db.scalar(
        select(FormerAddress)
        .join(User, User.id == FormerAddress.user_id)
        .where(
            FormerAddress.id == id_,
            FormerAddress.expires_at > clock.now(),
            User.disabled_at.is_(None),
        )
    )


def find_reserved(db: Session, keys: Iterable[str], user_id: UUID | None = None) -> Sequence[str]:
    """The ``keys`` that are reserved for another user than ``user_id``.

    Call it after the login names are inserted: a change of address that has released a name in the
    meantime is then visible.
    """
    reserved = select(FormerAddress.key).where(
        FormerAddress.key.in_(list(keys)), FormerAddress.expires_at > clock.now()
    )
    if user_id:
        reserved = reserved.where(FormerAddress.user_id != user_id)
    return db.scalars(reserved).all()


def end_since(db: Session, former: FormerAddress) -> bool:
    """Delete ``former`` and those of later changes; return whether ``former`` was still there.

    A change that follows one which is taken back may be the work of the same intruder.
    """
    ended = db.scalars(
        delete(FormerAddress)
        .where(FormerAddress.user_id == former.user_id, FormerAddress.epoch >= former.epoch)
        .returning(FormerAddress.id)
        .execution_options(synchronize_session=False)
    ).all()
    return former.id in ended


def end_returned(db: Session, user_id: UUID, key: str) -> Left | None:
    """The changes by which the user, who takes ``key`` again, left it, if any can be taken back.

    The links of all changes in between end, as if that change was taken back: an intruder may have
    made them.
    """
    left = find_left(db, user_id, key)
    if left is not None:
        _delete(db, FormerAddress.user_id == user_id, FormerAddress.epoch > left.epoch)
    return left


def end_links(db: Session, user_id: UUID, key: str) -> None:
    """End the links "This was not me" that were mailed to the former address ``key``."""
    db.execute(
        update(FormerAddress)
        .where(FormerAddress.user_id == user_id, FormerAddress.key == key)
        .values(links_ended_at=clock.now())
        .execution_options(synchronize_session=False)
    )


def end_all(db: Session, user_id: UUID) -> None:
    """End every link that takes a change of the user back, and free the addresses."""
    _delete(db, FormerAddress.user_id == user_id)


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete former addresses that no link can restore any more."""
    return sweep_table(connection, FormerAddress, FormerAddress.expires_at <= now)


def _delete(db: Session, *conditions: ColumnElement[bool]) -> None:
    db.execute(
        delete(FormerAddress).where(*conditions).execution_options(synchronize_session=False)
    )


# Usernames that were given up or erased: for 180 days only the former holder can take them.
#
# Relying parties get the username as ``preferred_username`` (OpenID Connect Core 1.0, section
# 5.1), and people know each other by it. A person who takes the username of another would be
# taken for the other.
#
# A table has a keyed hash of each such name, so that nothing readable is left of an erased user.
# The key is the `subject_key`: one that a rotation of the secret, or the end of an old secret,
# does not change. With another key the names would be free early.


RESERVED_FOR = timedelta(days=180)
RESERVED_NAMES = 10  # of one user, the newest: no user reserves names without end


class Named(Protocol):
    """A login name in its normal form: an `authsite.sign_in.identifiers.Identifier`."""

    @property
    def kind(self) -> str: ...
    @property
    def key(self) -> str: ...


def release(ctx: Context, username: str, user_id: UUID | None) -> None:
    """Keep ``username`` from all but ``user_id``; with None, an erased user, from all.

    Call it in the transaction that deletes the login name, after that: until the end of the
    transaction no other one can release the same name.
    """
    digest = _digest(ctx.settings, username)
    # Of a holder before this one, whose time has passed, or of an earlier time of this one.
    ctx.db.execute(
        delete(ReleasedUsername)
        .where(ReleasedUsername.digest == digest)
        .execution_options(synchronize_session=False)
    )
    row = {"digest": digest, "user_id": user_id, "expires_at": clock.now() + RESERVED_FOR}
    ctx.db.execute(insert(ReleasedUsername), [row])
    if user_id is not None:
        _free_oldest(ctx.db, user_id)


def _free_oldest(db: Session, user_id: UUID) -> None:
    """Free what the user gave up before the newest `RESERVED_NAMES`."""
    newest = (
        select(ReleasedUsername.digest)
        .where(ReleasedUsername.user_id == user_id)
        .order_by(ReleasedUsername.expires_at.desc())
        .limit(RESERVED_NAMES)
    )
    db.execute(
        delete(ReleasedUsername)
        .where(ReleasedUsername.user_id == user_id, ReleasedUsername.digest.not_in(newest))
        .execution_options(synchronize_session=False)
    )


def find_reserved_username(
    cfg: Settings, db: Session, names: Iterable[Named], user_id: UUID | None = None
) -> Sequence[str]:
    """The keys of the usernames among ``names`` that only another than ``user_id`` can take.

    Call it after the login names are inserted, like `former.find_reserved`: a transaction that has
    released a name in the meantime is then visible.
    """
    keys = {_digest(cfg, name.key): name.key for name in names if name.kind == "username"}
    if not keys:
        return []
    reserved = select(ReleasedUsername.digest).where(
        ReleasedUsername.digest.in_(keys), ReleasedUsername.expires_at > clock.now()
    )
    if user_id is not None:
        reserved = reserved.where(ReleasedUsername.user_id.is_distinct_from(user_id))
    return [keys[digest] for digest in db.scalars(reserved)]


def forget_holder(db: Session, user_id: UUID) -> None:
    """Remove the id of an erased user; the names stay reserved, now from everyone."""
    db.execute(
        update(ReleasedUsername)
        .where(ReleasedUsername.user_id == user_id)
        .values(user_id=None)
        .execution_options(synchronize_session=False)
    )


def purge_released(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete the names that anyone can take again."""
    return sweep_table(connection, ReleasedUsername, ReleasedUsername.expires_at <= now)


def _digest(cfg: Settings, username: str) -> str:
    return subject_hash(subject_key(cfg), "released username", username)


# The change of address that a user has requested and not completed.
#
# It ends when the user's epoch is raised or another sign-in of the user ends: an intruder who was
# signed in there may have requested it.


class Pending(NamedTuple):
    """The requested address, and when its link expires.

    ``by_link``: an administrator asked for it, and its link alone completes it. What the user asked
    for is completed by the user alone, signed in: who reads the new mailbox may be another person,
    who would own the account from then on.
    """

    email: str
    expires_at: datetime
    by_link: bool


# The columns of a user without a pending change.
NONE: dict[str, None] = {
    "pending_email": None,
    "pending_epoch": None,
    "pending_expires_at": None,
    "pending_asked_at": None,
}

# The epoch is compared too: a statement may raise it without clearing these columns.
EXISTS = and_(User.pending_epoch == User.epoch, User.disabled_at.is_(None))
EMAIL = case((EXISTS, User.pending_email)).label("pending_email")


_FIND = select(
    User.pending_email.label("email"),
    User.pending_expires_at.label("expires_at"),
    User.pending_by_link.label("by_link"),
).where(User.id == bindparam("user_id"), EXISTS, User.pending_expires_at > bindparam("now"))
PENDING = PreparedQuery(_FIND, Pending)


def find_pending(db: Session, user_id: UUID) -> Pending | None:
    """The pending change of a user, unless its link has expired."""
    row = db.execute(_FIND, {"user_id": user_id, "now": clock.now()}).one_or_none()
    return Pending._make(row) if row else None


def find_apart(database: Database, user_id: UUID) -> Pending | None:
    """`find_pending` as a prepared query, outside the transaction."""
    return PENDING.one(database, user_id=user_id, now=clock.now())


def begin(
    db: Session, user_id: UUID, epoch: int, email: str, expires_at: datetime, *, by_link: bool
) -> str:
    """Make ``email`` the pending address instead of an earlier one; return the present address.

    Raises `SignInEnded` unless ``epoch``, read when the password was checked, is still the user's.
    """
    now = clock.now()
    present = db.scalar(
        update(User)
        .where(User.id == user_id, *unchanged_since(epoch))
        .values(
            pending_email=email,
            pending_epoch=epoch,
            pending_expires_at=expires_at,
            pending_asked_at=now,
            pending_by_link=by_link,
            updated_at=now,
        )
        .returning(User.email)
        .execution_options(synchronize_session=False)
    )
    if present is None:
        raise SignInEnded
    return present


def prolong(db: Session, user_id: UUID, expires_at: datetime) -> str | None:
    """Extend the pending change until ``expires_at``; return its address, None without a change."""
    return db.scalar(
        update(User)
        .where(User.id == user_id, EXISTS, User.pending_expires_at > clock.now())
        .values(pending_expires_at=expires_at)
        .returning(User.pending_email)
        .execution_options(synchronize_session=False)
    )


def end(db: Session, user_id: UUID) -> bool:
    """End the pending change; return whether there was one."""
    ended = db.scalar(
        update(User)
        .where(User.id == user_id, User.pending_email.is_not(None))
        .values(NONE)
        .returning(User.id)
        .execution_options(synchronize_session=False)
    )
    return ended is not None
