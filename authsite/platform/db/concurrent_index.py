"""Indexes on large tables, made by a migration while others write to the table.

Only migrations import this module.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import context, op
from sqlalchemy import Connection

from .migrate import LOCK_TIMEOUT

_INVALID = sa.text(
    "SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(:name) AND NOT indisvalid"
)


def create_index(
    name: str,
    table: str,
    columns: Sequence[str],
    added: sa.Column[object] | None = None,
    *,
    where: str | None = None,
) -> None:
    """Create an index, on PostgreSQL without keeping others from writing to the table.

    ``columns``: names, and expressions as in SQL, such as ``lower(name) COLLATE "C"``. ``where``:
    the condition of a partial index. ``added``: a nullable column that is added to the table
    before. Call this before the migration touches the table: on PostgreSQL it is not in the
    transaction of the migration, which has the lock that keeps others from migrating. What a
    migration that was stopped has left is used, or dropped and made again.
    """
    # The table of a new database is made in the same transaction, and has no rows.
    if op.get_bind().dialect.name == "postgresql" and not context.config.attributes["new"]:
        _create_concurrently(name, table, columns, added, where)
        return
    if added is not None:
        op.add_column(table, added)
    parts = [each if each.isidentifier() else sa.text(each) for each in columns]
    condition = sa.text(where) if where else None
    op.create_index(op.f(name), table, parts, sqlite_where=condition, postgresql_where=condition)


def _create_concurrently(
    name: str,
    table: str,
    columns: Sequence[str],
    added: sa.Column[object] | None,
    where: str | None,
) -> None:
    engine = op.get_bind().engine.execution_options(isolation_level="AUTOCOMMIT")
    index = f"{name} ON {table} ({', '.join(columns)})" + (f" WHERE {where}" if where else "")
    with engine.connect() as connection:
        connection.detach()  # its settings are not for others
        connection.exec_driver_sql("SET statement_timeout = 0")
        try:
            if added is not None:
                _add_column(connection, table, added)
            connection.exec_driver_sql("SET lock_timeout = 0")  # no request waits for the index
            if connection.scalar(_INVALID, {"name": name}):
                connection.exec_driver_sql(f"DROP INDEX CONCURRENTLY {name}")
            connection.exec_driver_sql(f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {index}")
        finally:  # behind a pooler the connection to the server stays
            connection.exec_driver_sql("RESET statement_timeout")
            connection.exec_driver_sql("RESET lock_timeout")


def _add_column(connection: Connection, table: str, added: sa.Column[object]) -> None:
    """Requests wait behind this: no longer than for other statements of a migration."""
    connection.exec_driver_sql(f"SET lock_timeout = {LOCK_TIMEOUT}")
    kind = added.type.compile(connection.dialect)
    connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {added.name} {kind}")
