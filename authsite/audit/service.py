"""Writing the audit trail."""

import uuid
from datetime import datetime
from hashlib import sha256

from sqlalchemy import insert
from sqlalchemy.orm import Session

from authsite.http.source import Source

from .models import AuditEvent

_INSERT = insert(AuditEvent)


def record(
    db: Session,
    now: datetime,
    source: Source,
    event: str,
    *,
    user_id: uuid.UUID | None = None,
    client_id: uuid.UUID | None = None,
    details: dict[str, str] | None = None,
) -> None:
    """Write that ``event`` happened; it stays only if the transaction of its cause does.

    ``details`` holds ids and reasons, never a password, token or address of a stranger
    (ASVS 16.2.5); a name nobody owns goes in by `pseudonym`.
    """
    db.execute(
        _INSERT,
        [
            {
                "at": now,
                "event": event,
                "user_id": user_id,
                "client_id": client_id,
                "address": source.address,
                "agent": source.agent,
                "request_id": source.request_id,
                "details": details,
            }
        ],
    )


def pseudonym(text: str) -> str:
    """A short hash by which attempts on one unknown name can be told to be the same."""
    return sha256(text.encode(errors="replace")).hexdigest()[:16]
