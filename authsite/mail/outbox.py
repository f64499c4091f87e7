"""The outbox as requests use it: enqueue a mail, delete mails of a user, and old ones."""

import re
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Connection, and_, delete, insert, or_
from sqlalchemy.orm import Session

from authsite import clock
from authsite.context import Context
from authsite.db.batches import Batch
from authsite.db.table_scan import sweep_table
from authsite.settings import Settings

from .models import OutboxMessage

KEEP_TRYING = timedelta(hours=24)
KEEP = timedelta(days=7)  # to answer whether a mail was sent
KEEP_DEAD = timedelta(days=30)  # for `authsite mail retry`

# Exactly one address: no list, display name, comment or line end.
_ADDRESS = re.compile(r"[!#-'*+/-9=?A-Z^-~.-]{1,64}@[A-Za-z0-9._-]{1,253}")
_INSERT = insert(OutboxMessage)


class Recipient(NamedTuple):
    """The user and the address that a mail is sent to."""

    user_id: uuid.UUID | None
    address: str


# For a row that is never sent, written so that an unknown account costs the same.
NO_RECIPIENT = Recipient(None, "nobody@example.invalid")


def put(
    ctx: Context,
    kind: str,
    recipient: Recipient,
    *,
    about_id: uuid.UUID | None = None,
    page_url: str | None = None,
    expires_at: datetime | None = None,
) -> uuid.UUID:
    """Enqueue a mail of this kind to ``recipient``, sent after the commit; return its id.

    A later change of the user's address does not redirect the mail. ``about_id``: the row that the
    mail is about. ``page_url``: the page that the link in the mail leads to. After ``expires_at``
    the mail is dropped. Raises ValueError for a text that is not exactly one e-mail address.
    """
    if not _ADDRESS.fullmatch(recipient.address):
        raise ValueError("not one plain e-mail address; normalize it before it is stored")
    now = clock.now()
    id_ = uuid.uuid4()
    ctx.db.execute(
        _INSERT,
        [
            {
                "id": id_,
                "kind": kind,
                "user_id": recipient.user_id,
                "address": recipient.address,
                "about_id": about_id,
                "page_url": page_url,
                "base_url": ctx.request_info.base_url,
                "language": ctx.request_info.language,
                "expires_at": expires_at,
                "created_at": now,
                "give_up_at": now + KEEP_TRYING,
                "state": "waiting",
                "delivery_attempts": 0,
                "next_attempt_at": now,
            }
        ],
    )
    return id_


def erase(db: Session, user_id: uuid.UUID) -> None:
    """Delete all rows of a user, sent or not."""
    db.execute(
        delete(OutboxMessage)
        .where(OutboxMessage.user_id == user_id)
        .execution_options(synchronize_session=False)
    )


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete mails that were sent or dropped a week ago, or are dead since a month."""
    over = or_(
        and_(OutboxMessage.state.in_(("sent", "expired")), OutboxMessage.ended_at <= now - KEEP),
        and_(OutboxMessage.state == "dead", OutboxMessage.ended_at <= now - KEEP_DEAD),
    )
    return sweep_table(connection, OutboxMessage, over)
