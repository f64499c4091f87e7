"""Whether processes of a former version may still run on a database that was upgraded.

The upgrade records the revision that the former version knows, in the transaction of the migration.
`authsite db upgrade --finish` deletes the record. A new database has none.
"""

from typing import NamedTuple

from sqlalchemy import Connection, bindparam, column, select, table

from authsite.platform.runtime import clock

from .base import UtcDateTime
from .engine import Database
from .prepared import PreparedQuery

# Not its model: that is in a higher package.
_RECORDS = table(
    "installation_records", column("name"), column("value"), column("at", UtcDateTime())
)
_NAME = "former_revision"
_WANTED = _RECORDS.c.name == bindparam("wanted", _NAME)


class _Former(NamedTuple):
    value: str


_FORMER = PreparedQuery(
    select(_RECORDS.c.value).where(_RECORDS.c.name == bindparam("wanted")), _Former
)


def former_revision(database: Database) -> str | None:
    """The revision that every process knows, if an upgrade is not finished; else None.

    Raises SQLAlchemy's errors.
    """
    row = _FORMER.one(database, wanted=_NAME)
    return row.value if row else None


def begin(connection: Connection, former: str) -> None:
    """Record that processes may run that know ``former`` and no later revision.

    The record of an upgrade that is not finished stays.
    """
    if connection.scalar(select(_RECORDS.c.value).where(_WANTED)) is None:
        values = {"name": _NAME, "value": former, "at": clock.now()}
        connection.execute(_RECORDS.insert(), values)


def finish(connection: Connection) -> None:
    """Record that all processes are of this version. Raises SQLAlchemy's errors."""
    connection.execute(_RECORDS.delete().where(_WANTED))
