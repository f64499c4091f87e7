"""Writing the audit trail."""

import uuid
from datetime import datetime
from hashlib import sha256
from typing import Any, cast

from sqlalchemy import ColumnElement, Insert, Table, bindparam, insert, select
from sqlalchemy.orm import Session

from authsite.http.source import Source

from .models import AuditEvent

# Into the table, not the class: the ORM's way of inserting one row costs as much as the row.
_TABLE = cast(Table, AuditEvent.__table__)
_INSERT = insert(_TABLE)


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
    values = event_values(now, source, event, user_id=user_id, client_id=client_id, details=details)
    db.connection().execute(_INSERT, values)


def recording_if(condition: ColumnElement[bool]) -> Insert:
    """The statement that records an event where ``condition`` holds, for `Points.write`.

    It asks for `event_values`, and for what the condition asks for.
    """
    columns = [column for column in _TABLE.columns if column.name != "id"]
    given = [bindparam(column.name, type_=column.type) for column in columns]
    return _INSERT.from_select(columns, select(*given).where(condition))


def event_values(
    now: datetime,
    source: Source,
    event: str,
    *,
    user_id: uuid.UUID | None = None,
    client_id: uuid.UUID | None = None,
    details: dict[str, str] | None = None,
) -> dict[str, Any]:
    """The values of one row, as in `record`."""
    return {
        "at": now,
        "event": event,
        "user_id": user_id,
        "client_id": client_id,
        "address": source.address,
        "agent": source.agent,
        "request_id": source.request_id,
        "details": details,
    }


def pseudonym(text: str) -> str:
    """A short hash by which attempts on one unknown name can be told to be the same."""
    return sha256(text.encode(errors="replace")).hexdigest()[:16]
