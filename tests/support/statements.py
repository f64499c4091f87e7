"""Watching, and stepping between, the statements that reach the database."""

from contextlib import contextmanager

from authsite.platform.db.libpq import PostgreSQLConnection
from authsite.platform.db.prepared_connections import SQLiteConnection


@contextmanager
def counted(database):
    """The list that has every statement of the block, prepared queries included."""
    seen = []
    with noted(database, lambda statement, _parameters: seen.append(statement)):
        yield seen


@contextmanager
def noted(database, note):
    """Call ``note(statement, parameters)`` for every statement, as the driver gets it."""

    def noting(do_execute):
        def execute(cursor, statement, parameters, context=None):
            note(statement, parameters)
            return do_execute(cursor, statement, parameters, context)

        return execute

    run = database.prepared._execute

    def noted_run(connection, queries):
        for compiled, parameters in queries:
            note(compiled.sql, parameters)
        return run(connection, queries)

    dialects = {
        id(engine.dialect): engine.dialect
        for engine in (database.transactional, database.autocommit)
    }
    for dialect in dialects.values():
        dialect.do_execute = noting(dialect.do_execute)
    database.prepared._execute = noted_run
    try:
        yield
    finally:
        for dialect in dialects.values():
            del dialect.do_execute
        del database.prepared._execute


@contextmanager
def round_trips(database):
    """The list that has the number of statements of each run of prepared queries in the block."""
    seen, run = [], database.prepared._execute

    def counting(connection, queries):
        seen.append(len(queries))
        return run(connection, queries)

    database.prepared._execute = counting
    try:
        yield seen
    finally:
        del database.prepared._execute


def fail_commits(patch, database):
    """Let whatever writes fail as on a full disk, till the `monkeypatch` is undone."""
    for engine in (database.transactional, database.autocommit):
        dialect = engine.dialect
        full = dialect.dbapi.OperationalError("the disk is full")

        def fail(connection, *, full=full, dialect=dialect):
            if dialect.name == "postgresql":  # which ends the transaction; SQLite leaves it open
                dialect.do_rollback(connection)
            raise full

        patch.setattr(dialect, "do_commit", fail)
    sqlite = database.autocommit.dialect.name == "sqlite"
    connection = SQLiteConnection if sqlite else PostgreSQLConnection
    execute = connection.execute

    def fail_to_write(self, queries):
        if all(compiled.sql.startswith("SELECT") for compiled, _parameters in queries):
            return execute(self, queries)
        raise full

    patch.setattr(connection, "execute", fail_to_write)


def fail_all(patch, database):
    """Let every statement fail as with a lost database, till the `monkeypatch` is undone."""
    for engine in (database.transactional, database.autocommit):
        lost = engine.dialect.dbapi.OperationalError("away")

        def failing(*_, lost=lost):
            raise lost

        patch.setattr(engine.dialect, "do_execute", failing)
        for connection in (SQLiteConnection, PostgreSQLConnection):
            patch.setattr(connection, "execute", failing)


@contextmanager
def stepping_between(pool, moment, start, action):
    """Run ``action()`` once, ``moment`` ("before" or "after") a prepared query that begins so."""
    done, execute = [], pool._execute

    def step(connection, queries):
        mine = not done and any(compiled.sql.startswith(start) for compiled, _ in queries)
        if mine:
            done.append(start)
        if mine and moment == "before":
            action()
        rows = execute(connection, queries)
        if mine and moment == "after":
            action()
        return rows

    pool._execute = step
    try:
        yield done
    finally:
        del pool._execute
