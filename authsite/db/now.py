"""The database's clock."""

from datetime import datetime

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from .base import UtcDateTime


class database_now(FunctionElement[datetime]):
    """The time at which the statement runs, by the clock of the database."""

    type = UtcDateTime()
    inherit_cache = True


@compiles(database_now, "postgresql")
def _on_postgresql(*_: object, **__: object) -> str:
    return "clock_timestamp()"


@compiles(database_now, "sqlite")
def _on_sqlite(*_: object, **__: object) -> str:
    # In the format in which SQLAlchemy stores a time.
    return "strftime('%Y-%m-%d %H:%M:%f000', 'now')"
