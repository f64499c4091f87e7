"""Migrates the schema with Alembic, and reads its revision."""

import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Literal, NamedTuple

from sqlalchemy import Connection, column, func, inspect, select, table
from sqlalchemy.exc import OperationalError

from authsite.platform.runtime import package

from . import upgrades
from .engine import Database, without_time_limit

if TYPE_CHECKING:
    from alembic.config import Config

# Not `alembic_version`, which a host application may use in the same database.
VERSION_TABLE = "authsite_alembic_version"
# Milliseconds that a migration waits for a table. Requests wait behind it, and fail after 2000.
LOCK_TIMEOUT = 500
ATTEMPTS = 60  # for each migration, at most three seconds apart
LOCK_NUMBER = 7165218  # of an advisory lock; `authsite.platform.tasks.leader` lists the others
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
            upgrades.begin(connection, present)
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
