"""Usernames that were given up or erased: for 180 days only the former holder can take them.

Relying parties get the username as ``preferred_username`` (OpenID Connect Core 1.0, section 5.1),
and people know each other by it. A person who takes the username of another would be taken for the
other.

A table has a keyed hash of each such name, so that nothing readable is left of an erased user. The
key is the `subject_key`: one that a rotation of the secret, or the end of an old secret, does not
change. With another key the names would be free early.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.orm import Session

from authsite.platform.context import Context
from authsite.platform.db.batches import Batch
from authsite.platform.db.table_scan import sweep_table
from authsite.platform.rate_limit.limiter import subject_hash, subject_key
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings

from .models import ReleasedUsername

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


def find_reserved(
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


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete the names that anyone can take again."""
    return sweep_table(connection, ReleasedUsername, ReleasedUsername.expires_at <= now)


def _digest(cfg: Settings, username: str) -> str:
    return subject_hash(subject_key(cfg), "released username", username)
