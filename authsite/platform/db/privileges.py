"""Checks whether authsite's database role has more privileges than it needs."""

import logging
from typing import TYPE_CHECKING

from sqlalchemy import Engine, event, text
from sqlalchemy.pool import ConnectionPoolEntry

if TYPE_CHECKING:
    import psycopg

SUPERUSER = (
    "the role may do anything on the whole PostgreSQL server (superuser): use one that has only "
    "the rights in docs/hardening.md"
)
_SUPERUSER = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
_log = logging.getLogger(__name__)


def is_superuser(engine: Engine) -> bool:
    """Whether authsite's role on PostgreSQL is a superuser (ASVS 13.2.2, least privilege)."""
    if engine.dialect.name != "postgresql":
        return False
    with engine.connect() as connection:
        return bool(connection.scalar(text(_SUPERUSER)))


def warn_of_superuser(engine: Engine) -> None:
    """Check our role when the first connection is made; log a warning if it is a superuser.

    The start of the application does not check it, so that it does not need the database.
    """
    if engine.dialect.name != "postgresql":
        return

    def warn(connection: "psycopg.Connection[tuple[bool]]", _record: ConnectionPoolEntry) -> None:
        with connection.cursor() as cursor:
            row = cursor.execute(_SUPERUSER).fetchone()
        connection.rollback()
        if row and row[0]:
            _log.warning("authsite.database-url: %s", SUPERUSER)

    event.listen(engine, "first_connect", warn)
