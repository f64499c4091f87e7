"""Read events and seals as the text that the database has, so that no value can fail to be read.

A program with write access to the database can store values that Python cannot parse: a time of
``infinity``, deeply nested JSON, on SQLite any type in any column. Two different texts may also
have the same parsed value.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, cast

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ColumnElement,
    Connection,
    DateTime,
    Integer,
    Select,
    String,
    Table,
    Text,
    bindparam,
    extract,
    func,
    select,
    type_coerce,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent
from authsite.platform.db.base import Base, UtcDateTime

# The table of seals.


class AuditSeal(Base):
    """A MAC over some events and the seal before (`authsite.platform.audit.seals.seal`)."""

    __tablename__ = "audit_seals"
    __table_args__ = (CheckConstraint("id > 0", name="id"),)

    id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False
    )
    at: Mapped[datetime]
    rows: Mapped[int]
    first_id: Mapped[int] = mapped_column(BigInteger)
    last_id: Mapped[int] = mapped_column(BigInteger)
    newest_at: Mapped[datetime]
    """The latest time of the events."""
    key: Mapped[str] = mapped_column(String(12))
    """The fingerprint of the key, in hexadecimal."""
    digest: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the events, in hexadecimal."""
    former_mac: Mapped[str] = mapped_column(String(64))
    mac: Mapped[str] = mapped_column(String(64))
    purged_mac: Mapped[str | None] = mapped_column(String(64))
    """A second MAC, when the purge has deleted the events of this seal and all before it."""


SEALS = cast(Table, AuditSeal.__table__)
_EVENTS = cast(Table, AuditEvent.__table__)
_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"
_PG_FORMAT = 'YYYY-MM-DD"T"HH24:MI:SS.US"Z" BC'
_AD = " AD"


_HEX_DIGITS = "(?:3[0-9]){2}"  # two digits as SQLite's `hex` writes them
_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z AD"
    rf"|text:{_HEX_DIGITS}{_HEX_DIGITS}2D{_HEX_DIGITS}2D{_HEX_DIGITS}20{_HEX_DIGITS}3A{_HEX_DIGITS}"
    rf"3A{_HEX_DIGITS}2E{_HEX_DIGITS}{_HEX_DIGITS}{_HEX_DIGITS}"
)


def is_moment(stored: str) -> bool:
    """Whether an event has a time in the form in which authsite stores it."""
    return _MOMENT.fullmatch(stored) is not None


def moment_text(moment: datetime) -> str:
    """``moment`` as a seal has it."""
    return moment.astimezone(UTC).strftime(_FORMAT)


def moment_of(stored: str) -> datetime | None:
    """The time that ``stored`` says, as a seal or an event has it; None if it cannot be read."""
    text = stored.removesuffix(_AD)
    if text.startswith("text:"):  # an event of SQLite
        text = bytes.fromhex(text[5:]).decode(errors="replace").replace(" ", "T") + "Z"
    try:
        return datetime.strptime(text, _FORMAT).replace(tzinfo=UTC)
    except ValueError:
        return None


@cache
def events_after(dialect: str, *, bounded: bool) -> Select[Any]:
    """The events up to the id ``last``, at most ``at_most``.

    If ``bounded``, only those with ids above ``after``. The columns are the id, then all others as
    texts, the time first.
    """
    columns = [_event_text(column, dialect) for column in _EVENTS.columns if column.name != "id"]
    found = select(_EVENTS.c.id, *columns).where(_EVENTS.c.id <= bindparam("last"))
    if bounded:
        found = found.where(_EVENTS.c.id > bindparam("after"))
    return found.order_by(_EVENTS.c.id).limit(bindparam("at_most"))


def _event_text(column: Column[Any], dialect: str) -> ColumnElement[Any]:
    raw = type_coerce(column, Text)
    if dialect == "sqlite":  # the type and the bytes
        return func.typeof(raw, type_=Text) + ":" + func.hex(raw, type_=Text)
    if isinstance(column.type, UtcDateTime):  # to_char has no text for infinity
        return func.coalesce(_pg_moment(column), sql_cast(column, Text))
    return sql_cast(column, Text)


def _pg_moment(column: Column[Any]) -> ColumnElement[Any]:
    return func.to_char(func.timezone("UTC", column), _PG_FORMAT, type_=Text)


@cache
def seal_rows(dialect: str) -> Select[Any]:
    """The seals, their columns as texts and numbers."""
    return select(*(_seal_text(column, dialect).label(column.name) for column in SEALS.columns))


def _seal_text(column: Column[Any], dialect: str) -> ColumnElement[Any]:
    if isinstance(column.type, DateTime | UtcDateTime) and dialect != "sqlite":
        return _pg_moment(column)
    if dialect != "sqlite" or column.primary_key:
        return column
    if isinstance(column.type, Integer):
        return sql_cast(column, Integer)
    return func.hex(type_coerce(column, Text), type_=Text)


def seal_text(value: Any, dialect: str, *, moment: bool = False) -> str | None:
    """A text of a row of `seal_rows`."""
    if value is None:
        return None
    if dialect == "sqlite":
        text = bytes.fromhex(value).decode(errors="replace")
        return text.replace(" ", "T") + "Z" if moment else text
    return str(value).removesuffix(_AD)


def late_acceptances(connection: Connection) -> Iterator[tuple[int, str]]:
    """The id and the details, as text, of each event that accepts a late seal."""
    sqlite = connection.dialect.name == "sqlite"
    raw = type_coerce(_EVENTS.c.details, Text)
    details = func.hex(raw, type_=Text) if sqlite else sql_cast(_EVENTS.c.details, Text)
    statement = select(_EVENTS.c.id, details).where(_EVENTS.c.event == Event.AUDIT_LATE_ACCEPTED)
    for id_, text in connection.execute(statement):
        value = text or ""
        yield id_, bytes.fromhex(value).decode(errors="replace") if sqlite else value


def late_seals(connection: Connection, late: timedelta, limit: int) -> Sequence[Any]:
    """Rows of `seal_rows` whose first or latest event was older than ``late`` when it was made."""

    def later_than(column: ColumnElement[Any]) -> ColumnElement[bool]:
        age = extract("epoch", SEALS.c.at) - extract("epoch", column)
        return age > late.total_seconds()

    first = _EVENTS.c.id == SEALS.c.first_id
    statement = (
        seal_rows(connection.dialect.name)
        .select_from(SEALS.outerjoin(_EVENTS, first))
        .where(later_than(SEALS.c.newest_at) | later_than(_EVENTS.c.at))
    )
    return connection.execute(statement.order_by(SEALS.c.id).limit(limit)).mappings().all()
