"""Whether this process can serve requests: the database is reachable, and its schema is current."""

from functools import cache
from typing import NamedTuple

from sqlalchemy import column, select, table
from sqlalchemy.exc import ProgrammingError, SQLAlchemyError

from authsite.db import Database, PreparedQuery, migrate

DATABASE = "database"
SCHEMA_BEHIND = "schema behind"


class _Version(NamedTuple):
    version_num: str


_earlier = cache(migrate.earlier)  # reads the files of the migrations
# A prepared query, since the wait for its result is limited also if the server hangs.
_VERSION = PreparedQuery(
    select(column("version_num")).select_from(table(migrate.VERSION_TABLE)), _Version
)


def problems(database: Database) -> list[str]:
    """Why requests cannot be served: `DATABASE` or `SCHEMA_BEHIND`, without details; else empty.

    A newer schema than that of this code is no problem (`migrate.SchemaState`).
    """
    try:
        row = _VERSION.one(database)
    except SQLAlchemyError as error:
        return [SCHEMA_BEHIND if _lacks_table(error) else DATABASE]
    behind = row is None or row.version_num in _earlier()
    return [SCHEMA_BEHIND] if behind else []


def _lacks_table(error: SQLAlchemyError) -> bool:
    """Whether the database works and has no version table."""
    return isinstance(error, ProgrammingError) or "no such table" in str(error)
