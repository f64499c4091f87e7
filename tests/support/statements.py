"""Watching, and stepping between, the statements that reach the database."""

from contextlib import contextmanager

from sqlalchemy import event


@contextmanager
def counted(database):
    """The list that every statement of both engines goes to meanwhile."""
    seen = []

    def note(_connection, _cursor, statement, *_):
        seen.append(statement)

    engines = (database.writer, database.reader)
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", note)


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
