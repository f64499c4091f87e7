"""Migrates the schema with Alembic, and reads its revision."""

import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Literal, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from alembic import context, op
from sqlalchemy import BigInteger, Connection, bindparam, column, func, inspect, select, table
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.runtime import clock, package

from .base import Base, UtcDateTime
from .engine import Database, without_time_limit
from .prepared import PreparedQuery

if TYPE_CHECKING:
    from alembic.config import Config


# Whether processes of a former version may still run on a database that was upgraded.
#
# The upgrade records the revision that the former version knows, in the transaction of the
# migration. `authsite db upgrade --finish` deletes the record. A new database has none.


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


# Not `alembic_version`, which a host application may use in the same database.
VERSION_TABLE = "authsite_alembic_version"
# Milliseconds that a migration waits for a table. Requests wait behind it, and fail after 2000.
LOCK_TIMEOUT = 500
ATTEMPTS = 60  # for each migration, at most three seconds apart
LOCK_NUMBER = 7165218  # of an advisory lock; `authsite.platform.tasks.background` lists the others
_LOCKED = ("55P03", "40P01")  # lock_not_available, deadlock_detected
# The revisions of databases that versions before the first release have made. The migration after
# 0001 is 0100.
UNRELEASED = frozenset(f"{number:04}" for number in range(2, 100))
Tell = Callable[[str], None]
_REVISION = re.compile(r'^revision = "(\w+)"$', re.MULTILINE)
_PARENT = re.compile(r'^down_revision = "(\w+)"$', re.MULTILINE)


class UnreleasedSchema(RuntimeError):
    """The database was made by a version before the first release."""

    def __init__(self, revision: str) -> None:
        super().__init__(
            f"the database has the schema {revision}, of a version of authsite before the first "
            "release, which cannot be upgraded. Run `authsite export --secrets --output "
            "authsite.jsonl` with the version that made it. Then give this version a new database,"
            " run `authsite db upgrade` and `authsite import authsite authsite.jsonl`: "
            "docs/moving.md (Moving out) says what comes along"
        )


class TableNamesTaken(RuntimeError):
    """The database has tables with authsite's names that authsite did not create."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(
            f"the database has tables named {', '.join(sorted(names))} that authsite did not make;"
            " give authsite a database or, on PostgreSQL, a separate schema:"
            " database-url = postgresql://…?options=-csearch_path%3Dauth"
        )


def _folder() -> Path:
    beside = package.FOLDER.parent / "migrations"
    return beside if (beside / "env.py").exists() else package.FOLDER / "migrations"


FOLDER = _folder()
"""The migrations: beside the package in a checkout, inside it in a wheel."""


def upgrade(database: Database, revision: str = "head", tell: Tell = lambda _text: None) -> None:
    """Migrate the schema up to ``revision``; waits for another process that is migrating.

    A new database gets all migrations in one transaction, so that it is never taken for one that
    was upgraded (`upgrades`). ``tell`` gets one line for each transaction and each
    wait. Requests go on during this. Raises `TableNamesTaken`, before any change, if other tables
    have the names of ours, and `UnreleasedSchema`.
    """
    _run(database, revision, 1, tell)


def downgrade(database: Database, revision: str, tell: Tell = lambda _text: None) -> None:
    """Migrate the schema down to ``revision``; ``base`` removes all tables."""
    _run(database, revision, -1, tell)


class SchemaState(NamedTuple):
    """The schema of a database, compared with that of this code.

    ``revision``: of the database. ``head``: the newest that this code knows. ``newer``: another
    version of authsite has migrated the database. This code works with it, since a migration
    never takes away what the version before needs (CONTRIBUTING.md, "Migrations"). ``unreleased``:
    see `UnreleasedSchema`.
    """

    status: Literal["missing", "behind", "current", "newer", "unreleased"]
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
    if revision in UNRELEASED:
        return SchemaState("unreleased", revision, newest)
    if revision not in _revisions(FOLDER)[0]:
        return SchemaState("newer", revision, newest)
    return SchemaState("current" if revision == newest else "behind", revision, newest)


def head() -> str:
    """The newest revision. Read from the files, since importing Alembic is slow."""
    revisions, parents = _revisions(FOLDER)
    [newest] = revisions - parents
    return newest


@cache
def _revisions(folder: Path) -> tuple[set[str], set[str]]:
    texts = [path.read_text() for path in (folder / "versions").glob("*.py")]
    revisions = {match[1] for source in texts if (match := _REVISION.search(source))}
    return revisions, {match[1] for source in texts if (match := _PARENT.search(source))}


def current(database: Database) -> str | None:
    """The revision of authsite's schema; None if the database does not have the schema."""
    with database.autocommit.connect() as connection:
        return _version(connection)


def unusable() -> frozenset[str]:
    """The revisions with which this code does not work: all before the newest that it knows."""
    return UNRELEASED | (_revisions(FOLDER)[0] - {head()})


def refuse_unreleased(database: Database) -> None:
    """Raise `UnreleasedSchema` if that is what the database has, and SQLAlchemy's errors."""
    found = state(database)
    if found.status == "unreleased":
        raise UnreleasedSchema(str(found.revision))


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    version: str | None = connection.scalar(
        select(column("version_num")).select_from(table(VERSION_TABLE))
    )
    return version


def refuse_foreign_tables(connection: Connection, our_tables: Iterable[str]) -> None:
    """Raise `TableNamesTaken` if the database has our tables' names, but not our version table."""
    found = inspect(connection)
    taken = set(our_tables).intersection(found.get_table_names())
    if taken and not found.has_table(VERSION_TABLE):
        raise TableNamesTaken(taken)


class _Busy(Exception):
    """Another process is migrating the schema."""


def _run(database: Database, goal: str, direction: int, tell: Tell) -> None:
    """Migrate step by step, each in a transaction, until ``goal`` is reached.

    A step that does not get its locks within `LOCK_TIMEOUT` is rolled back and repeated, so that
    requests do not wait longer than that behind it.
    """
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    scripts = {step.revision: step for step in ScriptDirectory.from_config(config).walk_revisions()}
    order = ["base", *reversed(scripts)]
    attempt, goal = 0, order[-1] if goal == "head" else goal
    while True:
        began = perf_counter()
        try:
            done = _step(database, config, order[::direction], goal)
        except (_Busy, OperationalError) as error:
            attempt += not isinstance(error, _Busy)  # the other one may take hours
            if attempt == ATTEMPTS or not (reason := _reason_to_wait(error)):
                raise
            counted = f", attempt {attempt + 1} of {ATTEMPTS}" if attempt else ""
            tell(f"{reason}: trying again{counted}")
            time.sleep(0.5 + secrets.randbelow(1000) / 1000)
            continue
        if done is None:
            return
        attempt, seconds = 0, perf_counter() - began
        name = scripts[done.revision].doc if done.revision in scripts else "no tables"
        tell(f"{done.revision} ({'a new database' if done.new else name}): {seconds:.1f} s")


class _Step(NamedTuple):
    """The ``revision`` that was reached; ``new``: from no schema at all."""

    revision: str
    new: bool


def _step(database: Database, config: "Config", order: Sequence[str], goal: str) -> _Step | None:
    """Migrate to the revision that follows in ``order``, a new database to the ``goal``.

    Returns None at the ``goal``.
    """
    from alembic import command

    with database.transactional.begin() as connection:
        _lock(connection)
        present = _version(connection) or "base"
        if present in UNRELEASED:
            raise UnreleasedSchema(present)
        if present not in order or order.index(present) >= order.index(goal):
            return None  # a newer version has migrated the schema, or it is done
        up, new = order[0] == "base", present == order[0] == "base"
        step = goal if new else order[order.index(present) + 1]
        config.attributes |= {"connection": connection, "new": new}
        verb = command.upgrade if up else command.downgrade
        verb(config, step)
        if up and not new:
            begin(connection, present)
        return _Step(step, new)


def _lock(connection: Connection) -> None:
    """Let one process at a time migrate, until the end of the transaction. Raises `_Busy`.

    A lock of the transaction, since PgBouncer may give each transaction another connection. On
    SQLite the transaction itself holds the only write lock.
    """
    if connection.dialect.name == "postgresql":
        without_time_limit(connection)
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT}")
        if not connection.scalar(select(func.pg_try_advisory_xact_lock(LOCK_NUMBER))):
            raise _Busy


def _reason_to_wait(error: Exception) -> str:
    """Why a step is repeated; empty if it is not."""
    if isinstance(error, _Busy):
        return "another process is migrating"
    cause = getattr(error, "orig", None)
    if getattr(cause, "sqlstate", None) in _LOCKED or "database is locked" in str(cause):
        return "another transaction held a lock"
    return ""


# The table of the heartbeats; see `standbys`.


class Heartbeat(Base):
    """The latest heartbeat of a process. Nothing but the key has an index: each is a HOT update."""

    __tablename__ = "heartbeats"

    process: Mapped[UUID] = mapped_column(primary_key=True)
    """A random id, which ends with the process."""
    moment: Mapped[int] = mapped_column(BigInteger)
    """Of the monotonic clock of that process, in nanoseconds: just before it sent this."""
    written_at: Mapped[datetime]
    """By the clock of the database: only to delete rows of processes that have ended."""


# Indexes on large tables, made by a migration while others write to the table.
#
# Only migrations import this module.


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
