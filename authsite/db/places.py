"""Sweeping tables without an index that tells which rows are dead.

Their rows are looked at in the order in which they lie on the disk. By primary key, which is
random here, each page would be fetched once for each of its rows; so it is fetched once in all.
"""

from collections.abc import Iterator
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    String,
    Table,
    bindparam,
    delete,
    func,
    literal_column,
    select,
    type_coerce,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import REGCLASS
from sqlalchemy.types import UserDefinedType

from .base import Base
from .batches import ROWS, Batch, delete_chosen

PAGES = 64  # of PostgreSQL, in one batch: fewer than ROWS rows, as long as a row has 100 bytes


class _Tid(UserDefinedType[str]):
    """Where a row lies in PostgreSQL: ``(page,row)``."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "TID"


def sweep_table(
    connection: Connection, model: type[Base], dead: ColumnElement[bool]
) -> Iterator[Batch]:
    """Look at every row that is there at the start, and delete those that are ``dead``."""
    table = cast(Table, model.__table__)
    if connection.dialect.name == "sqlite":
        return _sweep_rowids(connection, table, dead)
    return _sweep_pages(connection, table, dead)


def _sweep_pages(
    connection: Connection, table: Table, dead: ColumnElement[bool]
) -> Iterator[Batch]:
    place: ColumnElement[str] = literal_column("ctid", _Tid())
    first, end = (sql_cast(bindparam(name, type_=String), _Tid()) for name in ("first", "end"))
    rows = select(place).select_from(table).where(place >= first, place < end, dead)
    statement = delete_chosen(place, rows, connection.dialect.name)
    size = func.pg_relation_size(sql_cast(table.name, REGCLASS))
    page_size = sql_cast(func.current_setting("block_size"), Integer)
    pages = int(connection.scalar(select(size / page_size)) or 0)
    for page in range(0, pages, PAGES):
        window = {"first": f"({page},0)", "end": f"({page + PAGES},0)"}
        deleted = connection.execute(statement, window).rowcount
        yield Batch(deleted, min(1.0, (page + PAGES) / pages))


def _sweep_rowids(
    connection: Connection, table: Table, dead: ColumnElement[bool]
) -> Iterator[Batch]:
    place: ColumnElement[int] = literal_column("rowid", Integer)
    after = place > bindparam("after", type_=Integer)
    rows = (
        select(place.label("place"), type_coerce(dead, Integer).label("dead"))
        .select_from(table)
        .where(after)
        .order_by(place)
        .limit(ROWS)
        .subquery()
    )
    # Looking takes no lock; the one that all writers share is taken only if there is a reason.
    look = select(func.max(rows.c.place), func.total(rows.c.dead))
    statement = delete(table).where(after, place <= bindparam("end", type_=Integer), dead)
    last = connection.scalar(select(func.max(place)).select_from(table)) or 0
    at = 0
    while at < last:
        end, found = connection.execute(look, {"after": at}).one()
        if end is None:
            return
        deleted = found and connection.execute(statement, {"after": at, "end": end}).rowcount
        at = end
        yield Batch(int(deleted), min(1.0, at / last))
