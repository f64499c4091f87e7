"""Deletes expired rows by a table scan, for tables that have no index to find them.

A scan reads the rows in their order on the disk, so it fetches each page once. In the order of the
primary key, which is random, it would fetch a page once for each of its rows.
"""

from collections.abc import Iterator
from typing import cast

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
