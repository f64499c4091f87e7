"""Deleting many rows in small batches, so that nobody waits for them.

A batch is one statement on a connection in AUTOCOMMIT, so a transaction of its own. On PostgreSQL
it passes over rows that somebody else holds: it waits for nobody, and no deadlock is its doing.
What it passed over, the next sweep finds. A sweep can be ended, and begun anew, at will.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Delete,
    Integer,
    Select,
    any_,
    bindparam,
    delete,
    func,
    select,
)
from sqlalchemy.orm import InstrumentedAttribute as Attribute

ROWS = 5000  # looked at in one batch, at most


class Batch(NamedTuple):
    """What one batch did, and how much of the sweep is behind it, from 0 to 1."""

    deleted: int
    done: float


def sweep_index(
    connection: Connection, key: Attribute[Any], moment: Attribute[datetime], end: datetime
) -> Iterator[Batch]:
    """Delete every row whose ``moment``, which has an index, is ``end`` or before; oldest first.

    Each batch begins at the moment where the one before ended: not among the index entries of
    rows that are gone, which stay until the next vacuum.
    """
    statement = overdue(key, moment, connection.dialect.name).returning(moment)
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


def overdue(key: Attribute[Any], moment: Attribute[datetime], dialect: str) -> Delete:
    """Delete the oldest ``at_most`` rows whose ``moment`` is from ``since`` to ``end``."""
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
    """Delete the rows whose ``key`` is among ``rows``, but for those that somebody else holds.

    On PostgreSQL an array, since that is made once. A plain subquery may be run anew for each row,
    and one that passes over locked rows would then find others, and delete more than asked for.
    """
    [table] = rows.get_final_froms()
    if dialect == "sqlite":
        return delete(table).where(key.in_(rows))  # type: ignore[arg-type]
    free = rows.with_for_update(skip_locked=True).correlate(None)
    chosen = func.array(free.scalar_subquery())
    return delete(table).where(key == any_(chosen))  # type: ignore[arg-type]
