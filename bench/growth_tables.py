"""Fills the other tables of a database for `bench.growth`: sign-ins, factors, groups, events …

It takes the rows of tests/support/plans.py, whose list a test keeps complete: a new table is there,
or that test fails. PostgreSQL only. Rows that exist already are not made again.
"""

import time

from sqlalchemy import text

from authsite.platform.db import open_database
from tests.support.plans import FILLING, GROWING

ID = "md5('user' || n)::uuid"  # as in `bench.filling`
# Made by `bench.filling`, or of a size that has nothing to do with the number of users.
OTHERS = {"users", "login_names", "families", "audit_seals", "limit_counters"}
TABLES = sorted(GROWING - OTHERS)
CLIENTS = "clients"  # ten, to which codes and consents belong
RESOURCES = """
INSERT INTO resources (id, uri, scopes, tokens, created_at, updated_at)
    SELECT md5('resource' || n)::uuid, 'https://api' || n || '.example.com/', '', 'opaque', now(),
    now() FROM generate_series(1, 1000) AS n ON CONFLICT DO NOTHING
"""
EVENTS = """
INSERT INTO audit_events (at, event, user_id, address, details)
    SELECT now() - interval '90 days' * (n % 1000) / 1000, 'token.issued', {id}, '192.0.2.1',
    CAST('{{"amr": "pwd"}}' AS json) FROM {numbers}
"""


def fill(url, users, chunk=500_000):
    """One row of each table for each user, and ten events."""
    database = open_database(url)
    with database.autocommit.connect() as connection:
        connection.execute(text("SET statement_timeout = 0"))
        connection.execute(text("SET session_replication_role = replica"))
        for table, statement in statements():
            began = time.monotonic()
            each = 10 if table == "audit_events" else 1
            there = connection.scalar(text(f"SELECT count(*) FROM {table}"))  # noqa: S608
            if table == CLIENTS:
                if there < 10:
                    _run(connection, statement, "md5(n::text)::uuid", 1, 10)
                continue
            # What the service adds stands beside these rows, a few thousand at most.
            for first in range(there // each + 1, users + 1, chunk):
                for _ in range(each):
                    _run(connection, statement, ID, first, min(users, first + chunk - 1))
            print(f"{table}: {users * each:,} in {time.monotonic() - began:.0f} s", flush=True)
        connection.execute(text(RESOURCES))
        connection.execute(text("VACUUM ANALYZE"))
        connection.execute(text("CHECKPOINT"))
        connection.invalidate()  # its settings are not those of a request
    database.dispose()


def statements():
    """(table, its INSERT): clients first, then each of `TABLES`."""
    found = {}
    for statement in FILLING.split(";"):
        words = statement.split()
        found[words[2]] = statement
    found["audit_events"] = EVENTS
    # Of all users: here by number, so that the filling can go on where it ended.
    by_number = "FROM (SELECT {id} AS id FROM {numbers}) AS a"
    found["identities"] = found["identities"].replace("FROM users", by_number)
    yield CLIENTS, found[CLIENTS].replace("generate_series(1, 10) AS n", "{numbers}")
    for table in TABLES:
        yield table, found[table]


def _run(connection, statement, id_, first, last):
    numbers = f"generate_series({first}, {last}) AS n"
    connection.execute(text(statement.format(id=id_, numbers=numbers)))
