"""What a browser goes on with later, and what is too long for a link or a cookie."""

import json
import secrets
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, ForeignKey, String, Text, bindparam, delete, select
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.db.base import Base
from authsite.platform.db.batches import Batch, sweep_table
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings
from authsite.platform.user_data import UserData

if TYPE_CHECKING:
    from pyramid.config import Configurator


# The table of stored requests.


class StoredRequest(Base):
    """Something that a browser goes on with until ``expires_at``. Of its key only a hash is stored.

    ``kind``: what it is; ``body``: its JSON; ``user_id``: the user that it is about, if one is
    known.
    """

    __tablename__ = "stored_requests"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    key_hash: Mapped[str] = mapped_column(String(64), unique=True)
    kind: Mapped[str] = mapped_column(String(32))
    user_id: Mapped[uuid.UUID | None] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    body: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]


# Store a request, find it again, use it up.


KEEP = timedelta(hours=24)  # after the end, for investigations


class Stored(NamedTuple):
    """What is stored under a key."""

    body: str


STORED = PreparedQuery(
    select(StoredRequest.body).where(
        StoredRequest.key_hash == bindparam("key_hash"),
        StoredRequest.kind == bindparam("kind"),
        StoredRequest.expires_at > bindparam("now"),
    ),
    Stored,
)


def store(
    ctx: Context,
    kind: str,
    body: Mapping[str, Any],
    lifetime: timedelta,
    *,
    key: str | None = None,
    user_id: uuid.UUID | None = None,
) -> str:
    """Insert a row in the request's transaction; its key.

    ``key``: one that cannot be guessed; by default a new one of 256 random bits.
    """
    key, now = key or secrets.token_urlsafe(32), clock.now()
    row = StoredRequest(
        id=uuid.uuid4(),
        key_hash=_hash(key),
        kind=kind,
        user_id=user_id,
        body=json.dumps(body, separators=(",", ":")),
        created_at=now,
        expires_at=now + lifetime,
    )
    ctx.db.add(row)
    return key


def find(ctx: Context, kind: str, key: str) -> dict[str, Any] | None:
    """The body stored under this key; None if there is none, or it has ended.

    It is read outside of the request's transaction.
    """
    found = STORED.one(ctx.database, kind=kind, key_hash=_hash(key), now=clock.now())
    return None if found is None else json.loads(found.body)


def spend(ctx: Context, kind: str, key: str) -> dict[str, Any] | None:
    """As `find`, and delete the row in the transaction: of concurrent calls one finds it."""
    body = ctx.db.scalar(
        delete(StoredRequest)
        .where(*_is(kind, key))
        .returning(StoredRequest.body)
        .execution_options(synchronize_session=False)
    )
    return None if body is None else json.loads(body)


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete what has ended a day ago."""
    return sweep_table(connection, StoredRequest, StoredRequest.expires_at <= now - KEEP)


def _is(kind: str, key: str) -> tuple[Any, ...]:
    return (
        StoredRequest.key_hash == _hash(key),
        StoredRequest.kind == kind,
        StoredRequest.expires_at > clock.now(),
    )


def _hash(key: str) -> str:
    """SHA-256 in hex, which is enough for 256 random bits."""
    return sha256(key.encode(errors="replace")).hexdigest()


def includeme(config: "Configurator") -> None:
    """The table and its cleanup."""
    config.add_user_data(UserData("stored_requests", StoredRequest))
    config.add_cleanup("stored_requests", "Stored requests", purge, when="ended a day ago")
