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
    Table,
    any_,
    bindparam,
    delete,
    func,
    select,
)
from sqlalchemy.orm import InstrumentedAttribute as Attribute

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
