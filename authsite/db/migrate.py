"""Migrates the schema with Alembic, and reads its revision."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from sqlalchemy import Connection, inspect, text

import authsite

from .engine import Database

# Not `alembic_version`, which a host application may use in the same database.
VERSION_TABLE = "authsite_alembic_version"
_FORMER_VERSION_TABLE = "alembic_version"  # of databases made by early revisions
# Processes that migrate at the same time wait for each other; the later ones have nothing to do.
_PG_LOCK = text("SELECT pg_advisory_lock(7165218)")
_PG_UNLOCK = text("SELECT pg_advisory_unlock(7165218)")
_REVISION = re.compile(r'^revision = "(\w+)"$', re.MULTILINE)
_PARENT = re.compile(r'^down_revision = "(\w+)"$', re.MULTILINE)


class TableNamesTaken(RuntimeError):
    """The database has tables with authsite's names that authsite did not create."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(
            f"the database has tables named {', '.join(sorted(names))} that authsite did not make;"
            " give authsite a database or, on PostgreSQL, a schema of its own:"
            " database-url = postgresql://…?options=-csearch_path%3Dauth"
        )


def folder() -> Path:
    """The folder of the migrations: beside the package in a checkout, inside it in a wheel."""
    package = Path(authsite.__file__).parent
    beside = package.parent / "migrations"
    return beside if (beside / "env.py").exists() else package / "migrations"


def upgrade(database: Database, revision: str = "head") -> None:
    """Migrate the schema up to ``revision``; waits for another process that is migrating.

    Raises `TableNamesTaken`, before any change, if other tables have the names of ours.
    """
    _run("upgrade", database, revision)


def downgrade(database: Database, revision: str) -> None:
    """Migrate the schema down to ``revision``; ``base`` removes all tables."""
    _run("downgrade", database, revision)


class SchemaState(NamedTuple):
    """The schema of a database, compared with that of this code.

    ``revision``: of the database. ``head``: the newest that this code knows. ``newer``: another
    version of authsite has migrated the database. This code works with it, since a migration
    never takes away what the version before needs (CONTRIBUTING.md, "Migrations").
    """

    status: Literal["missing", "behind", "current", "newer"]
    revision: str | None
    head: str

    @property
    def usable(self) -> bool:
        """Whether this code works with the schema."""
        return self.status in ("current", "newer")


def state(database: Database) -> SchemaState:
    """Compare the schema with that of this code. Raises SQLAlchemy's errors."""
    revision, newest = current(database), head()
    if revision is None:
        return SchemaState("missing", None, newest)
    if revision not in _revisions()[0]:
        return SchemaState("newer", revision, newest)
    return SchemaState("current" if revision == newest else "behind", revision, newest)


def head() -> str:
    """The newest revision. Read from the files, since importing Alembic is slow."""
    revisions, parents = _revisions()
    [newest] = revisions - parents
    return newest


@cache
def _revisions() -> tuple[set[str], set[str]]:
    texts = [path.read_text() for path in (folder() / "versions").glob("*.py")]
    revisions = {match[1] for source in texts if (match := _REVISION.search(source))}
    return revisions, {match[1] for source in texts if (match := _PARENT.search(source))}


def current(database: Database) -> str | None:
    """The revision of authsite's schema; None if the database does not have the schema."""
    with database.autocommit.connect() as connection:
        table = _version_table(connection)
        return table and _version(connection, table)


def earlier() -> frozenset[str]:
    """The revisions before the newest one that this code knows."""
    return frozenset(_revisions()[0] - {head()})


def _version(connection: Connection, table: str) -> str | None:
    version: str | None = connection.scalar(text(f"SELECT version_num FROM {table}"))  # noqa: S608  one of two constants
    return version


def _version_table(connection: Connection) -> str | None:
    """The present or former name of the table that contains our revision; None without one."""
    found = inspect(connection)
    if found.has_table(VERSION_TABLE):
        return VERSION_TABLE
    # A host application's revisions may have the same names, such as 0001. So the table is ours
    # only if the database also has our tables.
    if found.has_table(_FORMER_VERSION_TABLE) and found.has_table("families"):
        version = _version(connection, _FORMER_VERSION_TABLE)
        return _FORMER_VERSION_TABLE if version in _revisions()[0] else None
    return None


def rename_version_table(connection: Connection, our_tables: Iterable[str]) -> None:
    """Rename the version table if it still has its former name.

    Raises `TableNamesTaken` if the database has no version table of ours, but other tables with
    names of ours.
    """
    table = _version_table(connection)
    if table == _FORMER_VERSION_TABLE:
        connection.execute(text(f"ALTER TABLE {_FORMER_VERSION_TABLE} RENAME TO {VERSION_TABLE}"))
    if table is None:
        taken = set(our_tables).intersection(inspect(connection).get_table_names())
        if taken:
            raise TableNamesTaken(taken)
    connection.commit()


def _run(verb: str, database: Database, revision: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(folder()).replace("%", "%%"))
    with database.transactional.connect() as connection:
        postgresql = connection.dialect.name == "postgresql"
        if postgresql:
            # Waiting for another process that migrates may take longer than the usual timeouts.
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
                connection.invalidate()  # requests must not get a connection with these timeouts
