"""``python -m bench.administration --url postgresql://…``: console and API of a large site.

Fills an empty PostgreSQL with ten million users, and a second database of the server with 10,000.
Then it asks for every page of the console and everything that the API reads, in this process: the
routes are those of the application, and lists are asked for with their filters, also behind a
cursor. Each request is sent again and again, to the large and to the small database in turn. What
reads or sorts more than 20,000 rows stands beside it.

The times are those of the processors, in this process and in that of PostgreSQL, which must be on
the same machine: so other programs matter little. On an idle machine they are what a caller waits,
as long as everything is in memory. The time of the clock stands beside them.
"""

import argparse
import os
import re
import statistics
import time
from typing import NamedTuple

import psycopg
from sqlalchemy import text

from authsite.groups import administrators
from authsite.platform.audit.service import Cause
from authsite.platform.db import open_database
from authsite.sign_in.credentials import pack
from authsite.users.models import User
from tests.support.administrators import ADMIN_SCOPES, SETTINGS, STRONG
from tests.support.databases import migrated
from tests.support.factors import context
from tests.support.pages import sign_in
from tests.support.site import PASSWORD, Site, bearer
from tests.support.statements import noted

from . import administration_cases as cases
from . import administration_data as data
from . import administration_groups, machine
from . import administration_plans as plans

SMALL = 10_000  # users of the second database
PAGE, LIST = 0.150, 0.020  # seconds that a page and a list of 50 may take
RUNS, SLOW_RUNS = 14, 5  # PostgreSQL chooses a plan for any values after ten runs
SCOPES = "bench:read [groups]: Read"


class Seen(NamedTuple):
    """What one request took: seconds of each run, the statements with parameters, the status.

    ``seconds``: of the processors; ``of_database``: of these, PostgreSQL's; ``clock``: the median.
    """

    seconds: list[float]
    of_database: list[float]
    clock: float
    statements: list[tuple[str, object]]
    status: int


def main():
    """Fill, ask for everything, print one table."""
    options = argparse.ArgumentParser(prog="python -m bench.administration", description=__doc__)
    options.add_argument("--url", required=True, help="an empty database; it is filled")
    options.add_argument("--users", type=int, default=10_000_000)
    options.add_argument("--reuse", action="store_true", help="what a run before has filled")
    options.add_argument("--only", default="", help="a pattern of the names of what to measure")
    options.add_argument("--groups", action="store_true", help="change and delete the large group")
    options.add_argument("--runs", type=int, default=RUNS, help="of each request")
    options.add_argument("--alone", action="store_true", help="without the small database")
    options.add_argument("--plans", action="store_true", help="show those of the slow statements")
    given = options.parse_args()
    os.environ["PGAPPNAME"] = f"bench {os.getpid()}"  # to tell whose connections they are
    if not given.reuse:
        make(given.url, given.users)
    large = Place(given.url, given.runs)
    small = None if given.alone or given.groups else Place(small_url(given.url), given.runs)
    print(f"{machine.describe()}; {given.users:,} users\n")
    if given.groups:
        administration_groups.measure(large)
        return
    compare(large, small, given.only, given.plans)


def make(url, users):
    """Fill both databases."""
    server, _, name = url.rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}_small"')
    for each, number in ((small_url(url), SMALL), (url, users)):
        migrated(each)
        database = open_database(each)
        data.fill(database, number)
        database.dispose()


def small_url(url):
    """The database beside."""
    return f"{url}_small"


class Place:
    """An application on one of the databases, with an owner who is signed in."""

    def __init__(self, url, runs):
        self.site = Site(url, scopes=SCOPES, **SETTINGS)
        self.runs = runs
        self.email = f"root{time.time_ns()}@example.com"
        self.user = self.site.user(self.email, confirmed=True)
        self.keys = self.site.client(scope=" ".join(ADMIN_SCOPES))
        with self.site.db() as db:
            ctx = context(self.site, db)
            administrators.grant(ctx, db.get(User, self.user.id), "owner", Cause("command"))
        sign_in(self.site, self.email)
        self.values = cases.values(self.site)
        self.signed_in = 0.0
        self.headers = {}

    def ask(self, case, query):
        """GET; the answer, and the seconds it took."""
        api = case.route.startswith(cases.API)
        return self.site.http.get(
            case.path(self.values), query, headers=self.headers if api else {}, status="*"
        )

    def backends(self):
        """The processes of PostgreSQL that answer this application."""
        query = (
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name = current_setting('application_name')"
        )
        with self.site.database.autocommit.connect() as connection:
            return connection.scalars(text(query)).all()

    def sign_in(self):
        """Have a sign-in that is recent and strong, and a token of one."""
        if time.monotonic() - self.signed_in < 240:
            return
        token = self.site.login(self.keys, self.email, PASSWORD)["access_token"]
        self.headers = bearer(token)
        values = {"id": self.user.id, "scope": " ".join(ADMIN_SCOPES), "facts": pack(STRONG)}
        with self.site.db() as db:
            db.execute(
                text("UPDATE families SET scope = :scope, facts = :facts WHERE user_id = :id"),
                values,
            )
            db.execute(
                text(
                    "UPDATE web_sessions SET facts = :facts, auth_at = now(), used_at = now()"
                    " WHERE user_id = :id"
                ),
                values,
            )
        self.signed_in = time.monotonic()

    def measure(self, case, query):
        """Ask again and again, with the statements of the last time."""
        self.sign_in()
        statements, own, of_database, clock = [], [], [], []
        self.ask(case, query)
        pids = self.backends()
        with noted(self.site.database, lambda *each: statements.append(each)):
            while len(own) < (self.runs if sum(clock) < 2 else min(self.runs, SLOW_RUNS)):
                statements.clear()
                began = time.perf_counter(), time.thread_time(), machine.running(pids)
                answer = self.ask(case, query)
                clock.append(time.perf_counter() - began[0])
                own.append(time.thread_time() - began[1])
                of_database.append(machine.running(pids) - began[2])
        both = [sum(each) for each in zip(own, of_database, strict=True)]
        wait = statistics.median(clock)
        return Seen(both, of_database, wait, list(statements), answer.status_int)


def compare(large, small, only, show_plans):
    """Each case in both places; then those that miss their aim with what they read."""
    print("| what | ms | worst | of PostgreSQL | clock | statements | of 10,000 users | reads |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    missed = []
    for case in cases.all_cases(large.site):
        if not re.search(only, case.name):
            continue
        pages = [(case.name, lambda place, case=case: case.query(place.values))]
        if case.is_list:
            pages.append((f"{case.name}, third part", behind(case)))
        for name, query in pages:
            asked = query(large)
            if asked is None:
                continue
            seen, other = large.measure(case, asked), None
            if small and (asked := query(small)) is not None:
                other = small.measure(case, asked)
            if row(large, case, name, seen, other):
                missed.append(name)
                if show_plans:
                    print(*plans.texts(large.site.database, seen.statements), sep="\n")
    print(f"\n{len(missed)} above their aim: {', '.join(missed) or 'none'}")


def behind(case):
    """The query of the third part of a list; None if it has fewer."""

    def query(place):
        place.sign_in()
        found = case.query(place.values)
        for _ in range(2):
            answer = place.ask(case, found)
            cursor = re.search(r'cursor=([\w.:~-]+)|"next": ?"([\w.:~-]+)"', answer.text)
            if cursor is None:
                return None
            found = {**found, "cursor": cursor[1] or cursor[2]}
        return found

    return query


def row(place, case, name, seen, other):
    """Print a line of the table; whether it misses its aim."""
    median, worst = statistics.median(seen.seconds), max(seen.seconds)
    ratio = f"{median / statistics.median(other.seconds):.1f}" if other else "–"
    limit = LIST if case.route.startswith(cases.API) else PAGE
    over = case.has_aim and median > limit
    reads = plans.wide(place.site.database, seen.statements)
    status = "" if seen.status == 200 else f" ({seen.status})"
    print(
        f"| {name}{status} | {'**' if over else ''}{1000 * median:.1f}{'**' if over else ''}"
        f" | {1000 * worst:.0f} | {1000 * statistics.median(seen.of_database):.1f}"
        f" | {1000 * seen.clock:.0f} | {len(seen.statements)} | {ratio} | {'; '.join(reads)} |",
        flush=True,
    )
    return over


if __name__ == "__main__":
    main()
