"""R2: a process is killed at named points of a request; what belongs together is never halved."""

import itertools
import os
import signal
from collections import Counter

import bcrypt
from sqlalchemy import event
from webtest import TestApp

from authsite import main
from authsite.platform.db.libpq import PostgreSQLConnection
from authsite.platform.settings import read_ini

from .rig import prepared
from .rows import Row, none
from .traffic import PASSWORD, RESET_PAGE, TOKEN

POINTS = ("after the hash", "before a write", "after a write", "before COMMIT", "after COMMIT",
          "before the response")  # fmt: skip
RUNS = 600
STATE = """
SELECT (SELECT count(*) FROM families), (SELECT coalesce(sum(generation), 0) FROM families),
       (SELECT count(*) FROM users), (SELECT count(*) FROM login_names),
       (SELECT count(*) FROM outbox), (SELECT count(*) FROM audit_events)
"""


def killed_at_points(short):
    """R2: each run is a separate process, which sends itself SIGKILL at one point."""
    # A refresh token that is used twice writes another event.
    with prepared(sessions=RUNS) as made, made.postgres.connect() as connection:
        app = main({}, **read_ini(made.ini))
        calls = dict(zip(("login", "refresh", "forgot", "register"), bodies(made), strict=True))
        whole = {name: run(connection, app, body, None)[0] for name, body in calls.items()}
        halves, seen = [], Counter()
        turns = itertools.cycle(itertools.product(POINTS, calls))
        for point, name in itertools.islice(turns, 48 if short else RUNS):
            change, was_killed = run(connection, app, calls[name], point)
            seen[point] += was_killed
            if any(change) and change != whole[name]:
                halves.append(f"{name}, {point}: {change}")
    killed = ", ".join(f"{count} {point}" for point, count in seen.items())
    done = f"{sum(seen.values())} processes killed: {killed}"
    return [
        none("R2", done, "halves of token family, user, mail and audit row", halves),
        Row("R2", "the same requests, not killed", "each changes the database",
            str(sum(map(any, whole.values()))) + " of 4", all(map(any, whole.values()))),
    ]  # fmt: skip


def bodies(made):
    """The path and the form of each request, without end."""
    numbers, sessions = itertools.count(), iter(made.sessions)
    name = {"username": "ann@example.com", "password": PASSWORD}
    yield lambda: (TOKEN, made.client | name | {"grant_type": "password"})
    yield lambda: (TOKEN, made.client | {"grant_type": "refresh_token",
                                         "refresh_token": next(sessions)["refresh"]})  # fmt: skip
    yield lambda: ("/v1/password/forgot", {"email": "ann@example.com", "reset_url": RESET_PAGE})
    yield lambda: ("/v1/register", {"email": f"eve{next(numbers)}@example.com",
                                    "password": PASSWORD})  # fmt: skip


def run(connection, app, make, point):
    """What one request changed, and whether its process was killed."""
    before, (path, form) = connection.execute(STATE).fetchone(), make()
    child = os.fork()
    if not child:
        try:
            arm(app, point)
            TestApp(app).post(path, form, status="*")
            if point == POINTS[-1]:
                die()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    after = connection.execute(STATE).fetchone()
    changed = tuple(int(new - old) for new, old in zip(after, before, strict=True))
    return changed, os.WIFSIGNALED(status)


def arm(app, point):
    """Let this process die at ``point``."""
    database = app.registry["authsite"].database
    if point == "after the hash":
        for name in ("hashpw", "checkpw"):
            setattr(bcrypt, name, then_die(getattr(bcrypt, name)))
    for engine in (database.transactional, database.autocommit):
        if point == "before a write":
            event.listen(engine, "before_cursor_execute", die_if_write)
        elif point == "after a write":
            event.listen(engine, "after_cursor_execute", die_if_write)
        elif point == "before COMMIT":
            event.listen(engine, "commit", lambda _connection: die())
        elif point == "after COMMIT":
            committed = []
            event.listen(engine, "commit", committed.append)
            event.listen(engine, "checkin", lambda *_both, done=committed: done and die())
    execute, send = PostgreSQLConnection.execute, PostgreSQLConnection._send

    def executed(self, queries):
        writes = any(writing(compiled.sql) for compiled, _ in queries)
        if writes and point == "before a write":
            die()
        rows = execute(self, queries)
        if writes and point == "after COMMIT":
            die()
        return rows

    def sent(self, query):
        send(self, query)
        if writing(query[0].sql) and point in ("after a write", "before COMMIT"):
            die()

    PostgreSQLConnection.execute, PostgreSQLConnection._send = executed, sent


def then_die(function):
    """``function``, after which the process dies."""

    def call(*arguments):
        function(*arguments)
        die()

    return call


def die_if_write(_connection, _cursor, statement, *_more):
    """Die at a statement that writes."""
    if writing(statement):
        die()


def writing(sql):
    """Whether the statement writes."""
    return sql.lstrip().startswith(("INSERT", "UPDATE", "DELETE", "WITH"))


def die():
    """The end of this process."""
    os.kill(os.getpid(), signal.SIGKILL)
