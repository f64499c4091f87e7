"""Watching, and stepping between, the statements that reach the database."""

from contextlib import contextmanager

from sqlalchemy import event


@contextmanager
def counted(database):
    """The list that every statement on either engine goes to meanwhile, point reads included."""
    seen = []

    def noting(do_execute):
        def note(cursor, statement, parameters, context=None):
            seen.append(statement)
            return do_execute(cursor, statement, parameters, context)

        return note

    dialects = {id(engine.dialect): engine.dialect for engine in (database.writer, database.reader)}
    for dialect in dialects.values():
        dialect.do_execute = noting(dialect.do_execute)
    try:
        yield seen
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
