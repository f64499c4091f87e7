"""Watching, and stepping between, the statements that reach the database."""

from contextlib import contextmanager

from sqlalchemy import event


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

    dialects = {id(engine.dialect): engine.dialect for engine in (database.writer, database.reader)}
    for dialect in dialects.values():
        dialect.do_execute = noting(dialect.do_execute)
    try:
        yield
    finally:
        for dialect in dialects.values():
            del dialect.do_execute


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
