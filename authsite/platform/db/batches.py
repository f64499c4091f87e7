"""Deletes many rows in small batches, so that requests do not wait for the rows.

A batch is one statement on a connection in AUTOCOMMIT, so it is one transaction. On PostgreSQL it
skips rows that another transaction has locked: it never waits and cannot be part of a deadlock. The
next sweep deletes the rows that were skipped. A sweep may stop after any batch.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple, cast

from sqlalchemy import (
    ColumnElement,
    Connection,
    Delete,
    Integer,
    Select,
    String,
    Table,
    any_,
    bindparam,
    delete,
    func,
    literal_column,
    select,
    type_coerce,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import REGCLASS
from sqlalchemy.orm import InstrumentedAttribute as Attribute
from sqlalchemy.types import UserDefinedType

from .base import Base

ROWS = 5000  # the most that one batch reads


class Batch(NamedTuple):
    """How many rows a batch deleted, and the share of the sweep that is done, from 0 to 1."""

    deleted: int
    done: float


def sweep_index(
    connection: Connection, key: Attribute[Any], moment: Attribute[datetime], end: datetime
) -> Iterator[Batch]:
    """Delete every row whose ``moment``, an indexed column, is at or before ``end``; oldest first.

    Each batch starts at the moment where the batch before ended, so that it does not read the index
    entries of deleted rows, which stay until the next vacuum.
    """
    statement = delete_overdue(key, moment, connection.dialect.name).returning(moment)
    begin = connection.scalar(select(func.min(moment)).where(moment <= end))
    if begin is None:
        return
    since, full = begin, True
    while full:
        values = {"since": since, "end": end, "at_most": ROWS}
        moments = connection.scalars(statement, values).all()
        full = len(moments) == ROWS
        since = max(moments) if full else end
        yield Batch(len(moments), (since - begin) / (end - begin) if since < end else 1.0)


def delete_overdue(key: Attribute[Any], moment: Attribute[datetime], dialect: str) -> Delete:
    """Delete the ``at_most`` oldest rows whose ``moment`` is from ``since`` to ``end``."""
    rows = (
        select(key)
        .where(moment >= bindparam("since"), moment <= bindparam("end"))
        .order_by(moment)
        .limit(bindparam("at_most", type_=Integer))
    )
    return delete_chosen(key, rows, dialect)


def delete_chosen(
    key: Attribute[Any] | ColumnElement[Any], rows: Select[Any], dialect: str
) -> Delete:
    """A statement that deletes the rows whose ``key`` is among ``rows``, except locked rows.

    On PostgreSQL ``rows`` becomes an array, which is computed once. PostgreSQL may run a plain
    subquery again for each row; one that skips locked rows would then return other rows, and more
    rows than ``rows`` selects would be deleted.
    """
    [source] = rows.get_final_froms()
    table = cast(Table, source)
    if dialect == "sqlite":
        return delete(table).where(key.in_(rows))
    unlocked = rows.with_for_update(skip_locked=True).correlate(None)
    keys = func.array(unlocked.scalar_subquery())
    return delete(table).where(key == any_(keys))


# Deletes expired rows by a table scan, for tables that have no index to find them.
#
# A scan reads the rows in their order on the disk, so it fetches each page once. In the order of
# the primary key, which is random, it would fetch a page once for each of its rows.


# Pages of PostgreSQL in one batch: fewer than ROWS rows if a row takes at least 110 bytes.
PAGES = 64


class _Tid(UserDefinedType[str]):
    """PostgreSQL's type for the location of a row: ``(page,row)``."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        return "TID"


def sweep_table(
    connection: Connection, model: type[Base], expired: ColumnElement[bool]
) -> Iterator[Batch]:
    """Delete the rows for which ``expired`` is true; rows added during the scan may stay."""
    table = cast(Table, model.__table__)
    if connection.dialect.name == "sqlite":
        return _sweep_rowids(connection, table, expired)
    return _sweep_pages(connection, table, expired)


def _sweep_pages(
    connection: Connection, table: Table, expired: ColumnElement[bool]
) -> Iterator[Batch]:
    ctid: ColumnElement[str] = literal_column("ctid", _Tid())
    first, end = (sql_cast(bindparam(name, type_=String), _Tid()) for name in ("first", "end"))
    rows = select(ctid).select_from(table).where(ctid >= first, ctid < end, expired)
    statement = delete_chosen(ctid, rows, connection.dialect.name)
    size = func.pg_relation_size(sql_cast(table.name, REGCLASS))
    page_size = sql_cast(func.current_setting("block_size"), Integer)
    pages = int(connection.scalar(select(size / page_size)) or 0)
    for page in range(0, pages, PAGES):
        window = {"first": f"({page},0)", "end": f"({page + PAGES},0)"}
        deleted = connection.execute(statement, window).rowcount
        yield Batch(deleted, min(1.0, (page + PAGES) / pages))


def _sweep_rowids(
    connection: Connection, table: Table, expired: ColumnElement[bool]
) -> Iterator[Batch]:
    rowid: ColumnElement[int] = literal_column("rowid", Integer)
    after = rowid > bindparam("after", type_=Integer)
    rows = (
        select(rowid.label("id"), type_coerce(expired, Integer).label("expired"))
        .select_from(table)
        .where(after)
        .order_by(rowid)
        .limit(ROWS)
        .subquery()
    )
    # A batch is counted first, since a DELETE takes the database's write lock even if it deletes
    # nothing.
    count = select(func.max(rows.c.id), func.total(rows.c.expired))
    statement = delete(table).where(after, rowid <= bindparam("end", type_=Integer), expired)
    last = connection.scalar(select(func.max(rowid)).select_from(table)) or 0
    at = 0
    while at < last:
        end, found = connection.execute(count, {"after": at}).one()
        if end is None:
            return
        deleted = 0
        if found:
            deleted = connection.execute(statement, {"after": at, "end": end}).rowcount
        at = end
        yield Batch(deleted, min(1.0, at / last))
