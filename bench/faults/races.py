"""R20 and R22: many requests for one token or one address, at the same moment."""

import itertools
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from authsite.users.models import User
from tests.support import databases
from tests.support.pair import pair
from tests.support.together import together

from .rows import Row, none

THREADS = 20
REGISTRATIONS = 50


def refreshes(short):
    """R20: twenty threads refresh one token on two servers; with and without grace."""
    families = 20 if short else 200
    return [
        row
        for backend, grace in itertools.product(databases.BACKENDS, ("0s", "10s"))
        for row in _refreshes(backend, grace, families)
    ]


def _refreshes(backend, grace, families):
    winners, usable, statuses = 0, 0, Counter()
    with servers(backend, refresh_grace=grace) as two:
        keys = two.site.client("personal")
        for _ in range(families):
            token = two.issue(keys)["refresh_token"]
            answers = on_both(two, THREADS, lambda server, t=token: two.refresh(keys, t, server))
            good = [answer.json() for answer in answers if answer.status_code == 200]
            winners += len(good)
            statuses.update(answer.status_code for answer in answers)
            heads = {each["refresh_token"] for each in good}
            usable += len(heads) == 1 and two.alive(good[0]["access_token"])
        rows = len(two.site.families())
        errors = problems(two)
    done = f"{backend}, grace {grace}: {families} families, {THREADS} refreshes of each at once"
    if grace == "0s":
        first = Row("R20", done, f"exactly {families} winners", str(winners), winners == families)
    else:
        target = "each gets the same pair, which works"
        first = Row("R20", done, target, f"{usable} of {families}",
                    (usable, winners) == (families, families * THREADS))  # fmt: skip
    odd = {status: count for status, count in statuses.items() if status not in (200, 400)}
    return [
        first,
        Row("R20", done, "one row for each family", str(rows), rows == families),
        none("R20", done, "responses other than 200 and 400", [*odd.items()]),
        none("R20", done, "errors and deadlocks in the logs", errors),
    ]


def registrations(short):
    """R22: fifty registrations of one address at once, on two servers."""
    return [row for backend in databases.BACKENDS for row in _registrations(backend, short)]


def _registrations(backend, short):
    addresses = 3 if short else 100
    statuses = Counter()
    with servers(backend) as two:
        for number in range(addresses):
            fields = {"email": f"bo{number}@example.com", "password": "purple wolf 77 tea"}
            calls = on_both(two, REGISTRATIONS, lambda server, f=fields: register(server, f))
            statuses.update(calls)
        with two.site.db() as db:
            rows = db.query(User).count()
        errors = problems(two)
    done = f"{backend}: {addresses} addresses, {REGISTRATIONS} registrations of each at once"
    wanted = {201: addresses, 422: addresses * (REGISTRATIONS - 1)}
    return [
        Row("R22", done, f"{addresses} users", str(rows), rows == addresses),
        Row("R22", done, "one 201 for each address, else 422", str(dict(statuses)),
            statuses == wanted),
        none("R22", done, "errors and deadlocks in the logs", errors),
    ]  # fmt: skip


@contextmanager
def servers(backend, **settings):
    """A `Pair` of servers on a new database."""
    with (
        tempfile.TemporaryDirectory(prefix="authsite_race_") as folder,
        pair(backend, Path(folder), **settings) as two,
    ):
        yield two


def register(server, fields):
    """The status of a registration, tried again while there is no capacity for its hash."""
    while True:
        status = server.post("/v1/register", json=fields).status_code
        if status != 503:
            return status
        time.sleep(0.2)


def on_both(two, times, call):
    """``call(server)`` this number of times at once, on the two servers in turn."""
    chosen = itertools.islice(itertools.cycle((two.one, two.other)), times)
    return together(*(lambda server=server: call(server) for server in chosen))


def problems(two):
    """The lines of the logs with internal errors, and with deadlocks."""
    logs = [server.log.read_text(errors="replace") for server in (two.one, two.other)]
    words = ("internal_error", "Traceback", "deadlock")
    return [line for log in logs for line in log.splitlines() if any(w in line for w in words)]
