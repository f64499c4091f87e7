"""The outbox from the side of a request: put a letter in, take a user's out again."""

import re
import uuid
from datetime import datetime, timedelta

from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from .models import Outgoing

KEEP_TRYING = timedelta(hours=24)

# One address and nothing else, whatever a caller let through: no list, name, comment or line end.
_ADDRESS = re.compile(r"[!#-'*+/-9=?A-Z^-~.-]{1,64}@[A-Za-z0-9._-]{1,253}")
# For a row that nobody is sent, written so that strangers and users cost the same.
NOBODY = "nobody@example.invalid"
_INSERT = insert(Outgoing)


def put(
    db: Session,
    now: datetime,
    *,
    letter: str,
    user_id: uuid.UUID | None,
    address: str,
    language: str,
    base_url: str | None,
    page_url: str | None = None,
    expires_at: datetime | None = None,
) -> uuid.UUID:
    """Have ``letter`` sent to ``address`` once the transaction of ``db`` is committed; its id.

    ``address`` is fixed here, whatever the user changes later. ``page_url``: the page that the
    link in the letter leads to; ``base_url``: our own address as the request saw it. After
    ``expires_at`` the letter is dropped, not sent late. Raises ValueError for an address that a
    header could not hold as it is.
    """
    if not _ADDRESS.fullmatch(address):
        raise ValueError("not one plain e-mail address; normalise it before it is stored")
    id_ = uuid.uuid4()
    db.execute(
        _INSERT,
        [
            {
                "id": id_,
                "letter": letter,
                "user_id": user_id,
                "address": address,
                "page_url": page_url,
                "base_url": base_url,
                "language": language,
                "expires_at": expires_at,
                "created_at": now,
                "give_up_at": now + KEEP_TRYING,
                "state": "waiting",
                "attempts": 0,
                "next_attempt_at": now,
            }
        ],
    )
    return id_


def erase(db: Session, user_id: uuid.UUID) -> None:
    """Delete every row of a user who is being erased, sent or not."""
    db.execute(
        delete(Outgoing)
        .where(Outgoing.user_id == user_id)
        .execution_options(synchronize_session=False)
    )
