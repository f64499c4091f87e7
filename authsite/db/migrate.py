"""The schema: bring it up to date, and say whether it is."""

import re
from pathlib import Path

from sqlalchemy import inspect, text

import authsite

from .engine import Database

# Two processes that migrate at once: the second waits, then finds nothing to do.
_PG_LOCK = text("SELECT pg_advisory_lock(7165218)")
_PG_UNLOCK = text("SELECT pg_advisory_unlock(7165218)")
_REVISION = re.compile(r'^revision = "(\w+)"$', re.MULTILINE)
_PARENT = re.compile(r'^down_revision = "(\w+)"$', re.MULTILINE)


def folder() -> Path:
    """Where the migrations are: beside the package in a checkout, inside it once installed."""
    package = Path(authsite.__file__).parent
    beside = package.parent / "migrations"
    return beside if (beside / "env.py").exists() else package / "migrations"


def upgrade(database: Database, revision: str = "head") -> None:
    """Bring the schema up to ``revision``; waits for another process that is at it."""
    _run("upgrade", database, revision)


def downgrade(database: Database, revision: str) -> None:
    """Take the schema back to ``revision`` (``base`` for nothing at all)."""
    _run("downgrade", database, revision)


def head() -> str:
    """The newest revision, read off the files: a start does not pay for loading Alembic."""
    texts = [path.read_text() for path in (folder() / "versions").glob("*.py")]
    revisions = {match[1] for source in texts if (match := _REVISION.search(source))}
    parents = {match[1] for source in texts if (match := _PARENT.search(source))}
    [newest] = revisions - parents
    return newest


def current(database: Database) -> str | None:
    """The revision that the database has, or None for an empty one."""
    with database.reader.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        version: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
        return version


def _run(verb: str, database: Database, revision: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(folder()).replace("%", "%%"))
    with database.writer.connect() as connection:
        postgresql = connection.dialect.name == "postgresql"
        if postgresql:
            # Waiting for the other migrator may take longer than a request would wait.
            connection.execute(text("SET statement_timeout = 0"))
            connection.execute(text("SET lock_timeout = 0"))
            connection.execute(_PG_LOCK)
            connection.execute(text("SET lock_timeout = 2000"))
            connection.commit()
        try:
            config.attributes["connection"] = connection
            getattr(command, verb)(config, revision)
            connection.commit()
        finally:
            if postgresql:
                connection.rollback()
                connection.execute(_PG_UNLOCK)
                connection.commit()
                connection.invalidate()  # its timeouts are not those of a request
