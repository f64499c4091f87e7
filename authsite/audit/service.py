"""Writing the audit trail."""

import uuid
from datetime import datetime
from hashlib import sha256
from typing import Any, TypedDict, Unpack, cast

from sqlalchemy import ColumnElement, Insert, Table, bindparam, insert, select
from sqlalchemy.orm import Session

from authsite.http.source import Source

from .models import AuditEvent

# Into the table, not the class: the ORM's way of inserting one row costs as much as the row.
_TABLE = cast(Table, AuditEvent.__table__)
_INSERT = insert(_TABLE)


class About(TypedDict, total=False):
    """What an event is about.

    ``details`` holds ids and reasons, never a password, token or address of a stranger
    (ASVS 16.2.5); a name nobody owns goes in by `pseudonym`.
    """

    user_id: uuid.UUID | None
    client_id: uuid.UUID | None
    details: dict[str, str] | None


def record(
    db: Session,
    now: datetime,
    source: Source,
    event: str,
    **about: Unpack[About],
) -> None:
    """Write that ``event`` happened; it stays only if the transaction of its cause does."""
    db.connection().execute(_INSERT, event_values(now, source, event, **about))


def recording_if(condition: ColumnElement[bool]) -> Insert:
    """The statement that records an event where ``condition`` holds, for `Points.write`.

    It asks for `event_values`, and for what the condition asks for.
    """
    columns = [column for column in _TABLE.columns if column.name != "id"]
    given = [bindparam(column.name, type_=column.type) for column in columns]
    return _INSERT.from_select(columns, select(*given).where(condition))


def event_values(
    now: datetime, source: Source, event: str, **about: Unpack[About]
) -> dict[str, Any]:
    """The values of one row, as in `record`."""
    return {
        "at": now,
        "event": event,
        "user_id": about.get("user_id"),
        "client_id": about.get("client_id"),
        "address": source.address,
        "agent": source.agent,
        "request_id": source.request_id,
        "details": about.get("details"),
    }


def pseudonym(text: str) -> str:
    """A short hash by which attempts on one unknown name can be told to be the same."""
    return sha256(text.encode(errors="replace")).hexdigest()[:16]
