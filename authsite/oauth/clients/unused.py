"""Clients that no administrator has registered, until they are used: then they stay.

Anyone can register a client, so what is never used goes after a day. If there are too many, one of
them goes at once, and an application in the middle of a sign-in is the last: a flood of
registrations displaces itself.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, and_, bindparam, exists, func, or_, select, update

from authsite.oauth.models import DOCUMENT, DYNAMIC, UNVERIFIED_TYPES, Client, Family
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record, record_by_task
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.db.batches import ROWS, Batch, delete_chosen
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings

KEEP_UNUSED = timedelta(hours=24)
SIGN_IN = timedelta(hours=1)  # the longest way from the registration to the first tokens
_COLUMNS = Client.__table__.c


class ChangedClient(NamedTuple):
    """A client whose row was changed."""

    id: UUID


NOTE_ASKED = PreparedQuery(
    update(Client)
    .where(
        Client.id == bindparam("of_client", type_=_COLUMNS.id.type),
        Client.used_at.is_(None),
        Client.asked_at.is_(None),
    )
    .values(asked_at=bindparam("now", type_=_COLUMNS.asked_at.type))
    .returning(Client.id),
    ChangedClient,
)
NOTE_FIRST_TOKENS = PreparedQuery(
    update(Client)
    .where(
        Client.id == bindparam("of_client", type_=_COLUMNS.id.type),
        Client.used_at.is_(None),
        exists().where(
            Family.id == bindparam("family_id", type_=Family.__table__.c.id.type),
            Family.created_at == bindparam("now", type_=_COLUMNS.used_at.type),
        ),
    )
    .values(used_at=bindparam("now", type_=_COLUMNS.used_at.type))
    .returning(Client.id),
    ChangedClient,
)


def note_asked(ctx: Context, client_id: UUID) -> None:
    """A signed-in user has come with this client; committed on return, outside of a transaction."""
    NOTE_ASKED.one(ctx.database, of_client=client_id, now=clock.now())


def noting_first_tokens(
    client_id: UUID, family_id: UUID, now: datetime
) -> tuple[PreparedQuery[ChangedClient], Mapping[str, object]]:
    """A query that notes that a client is used, for the transaction that issues its tokens."""
    return NOTE_FIRST_TOKENS, {"of_client": client_id, "family_id": family_id, "now": now}


def displace_one(ctx: Context) -> None:
    """Delete the client that registered itself and is least likely to be used any more, if any.

    First those that have been waiting for more than `SIGN_IN`, since they were registered or a
    signed-in user came with them; then those with which no user came yet. Of each the oldest goes
    first. So who signs in with clients without number, and uses none, does not have the next one
    that anybody registers displaced before its user has come.

    Rows that another transaction has locked are passed over: one of them is just being used.
    """
    waiting_since = func.coalesce(Client.asked_at, Client.created_at)
    rows = (
        select(Client.id)
        .where(Client.type == DYNAMIC, Client.used_at.is_(None), Client.disabled_at.is_(None))
        .order_by(
            waiting_since > clock.now() - SIGN_IN, Client.asked_at.is_not(None), waiting_since
        )
        .limit(1)
    )
    statement = delete_chosen(Client.id, rows, ctx.db.get_bind().dialect.name)
    for client_id in ctx.db.scalars(statement.returning(Client.id)).all():
        record(ctx, Event.CLIENT_EXPIRED, client_id=client_id)


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete the clients that were never used, a day after they came.

    A document is fetched again if it is wanted. A client that an administrator has disabled stays,
    so that it stays refused.
    """
    since = now - KEEP_UNUSED
    unused = and_(
        Client.type.in_(UNVERIFIED_TYPES),
        Client.used_at.is_(None),
        Client.disabled_at.is_(None),
        Client.created_at <= since,
        or_(Client.asked_at.is_(None), Client.asked_at <= since),
        or_(Client.type != DOCUMENT, Client.document_expires_at <= now),
    )
    found = connection.scalar(select(func.count()).select_from(Client).where(unused)) or 0
    rows = select(Client.id).where(unused).limit(ROWS)
    statement = delete_chosen(Client.id, rows, connection.dialect.name).returning(Client.id)
    gone = 0
    while gone < found:  # without a row no DELETE takes the write lock of SQLite
        ids = connection.scalars(statement).all()
        record_by_task(connection, Event.CLIENT_EXPIRED, [{"client_id": each} for each in ids])
        gone += len(ids)
        yield Batch(len(ids), min(1.0, gone / found) if ids else 1.0)
        if not ids:
            return
