"""Watching, and stepping between, the statements that reach the database."""

from contextlib import contextmanager

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

    ask = database.points._ask

    def noted_ask(line, steps):
        for prepared, parameters in steps:
            note(prepared.sql, parameters)
        return ask(line, steps)

    dialects = {id(engine.dialect): engine.dialect for engine in (database.writer, database.reader)}
    for dialect in dialects.values():
        dialect.do_execute = noting(dialect.do_execute)
    database.points._ask = noted_ask
    try:
        yield
    finally:
        for dialect in dialects.values():
            del dialect.do_execute
        del database.points._ask


def fail_commits(patch, database):
    """Let whatever writes fail as on a full disk, till the `monkeypatch` is undone."""
    for engine in (database.writer, database.reader):
        dialect = engine.dialect
        full = dialect.dbapi.OperationalError("the disk is full")

        def fail(connection, *, full=full, dialect=dialect):
            if dialect.name == "postgresql":  # which ends the transaction; SQLite leaves it open
                dialect.do_rollback(connection)
            raise full

        patch.setattr(dialect, "do_commit", fail)
    line = SQLiteLine if database.reader.dialect.name == "sqlite" else PostgresLine
    ask = line.ask

    def fail_to_write(self, steps):
        if all(prepared.sql.startswith("SELECT") for prepared, _parameters in steps):
            return ask(self, steps)
        raise full

    patch.setattr(line, "ask", fail_to_write)


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
def stepping_between(points, moment, start, action):
    """Run ``action()`` once, ``moment`` ("before" or "after") a point that begins so."""
    done, ask = [], points._ask

    def step(line, steps):
        mine = not done and any(prepared.sql.startswith(start) for prepared, _parameters in steps)
        if mine:
            done.append(start)
        if mine and moment == "before":
            action()
        answers = ask(line, steps)
        if mine and moment == "after":
            action()
        return answers

    points._ask = step
    try:
        yield done
    finally:
        del points._ask
