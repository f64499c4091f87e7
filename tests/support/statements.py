"""Watching, and stepping between, the statements that reach the database."""

from contextlib import contextmanager

from sqlalchemy import event

from authsite.db.lines import PostgresLine, SQLiteLine


@contextmanager
def counted(database):
    """The list that every statement on either engine goes to meanwhile, point reads included."""
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

    def noting_point(ask):
        def noted_ask(prepared, parameters):
            note(prepared.sql, parameters)
            return ask(prepared, parameters)

        return noted_ask

    dialects = {id(engine.dialect): engine.dialect for engine in (database.writer, database.reader)}
    for dialect in dialects.values():
        dialect.do_execute = noting(dialect.do_execute)
    database.points._ask = noting_point(database.points._ask)
    try:
        yield
    finally:
        for dialect in dialects.values():
            del dialect.do_execute
        del database.points._ask


def fail_all(patch, database):
    """Let every statement fail as with a lost database, till the `monkeypatch` is undone."""
    for engine in (database.writer, database.reader):
        lost = engine.dialect.dbapi.OperationalError("away")

        def failing(*_, lost=lost):
            raise lost

        patch.setattr(engine.dialect, "do_execute", failing)
        for line in (SQLiteLine, PostgresLine):
            patch.setattr(line, "ask", failing)


@contextmanager
def stepping_in(engine, moment, start, action):
    """Run ``action()`` once, ``moment`` ("before" or "after") a statement that begins so."""
    done = []

    def step(_connection, _cursor, statement, *_):
        if statement.lstrip().startswith(start) and not done:
            done.append(statement)
            action()

    name = f"{moment}_cursor_execute"
    event.listen(engine, name, step)
    try:
        yield done
    finally:
        event.remove(engine, name, step)
