"""``python -m bench.purge --url postgresql://…``: purging millions of expired families while the
service is in use (R19).

The database must be empty and durable as in production. The benchmark fills it first (``--fill``
stops after that). Then two workers of `authsite serve` get 40 requests a second, mixed as in R1:
first without a purge, then with one that is paused every other ten seconds, so that both are
measured on the same machine in the same minutes. The purge is killed with SIGKILL when half is done
and started again; a second one must fail during this.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlencode

from sqlalchemy import func, select, text

from authsite.oauth.models import Family
from authsite.oauth.tokens.format import ACCESS, REFRESH
from authsite.platform.command_line.shared import services_of
from authsite.platform.db import open_database
from authsite.platform.runtime import clock
from authsite.platform.settings import environment, folder_of, load, read_ini, revealed
from authsite.platform.tasks.background import Lock, held, own_connection
from authsite.platform.tasks.cleanup import steps
from tests.support.codec import TokenCodec

from . import filling, machine, pace
from .seed import PASSWORD, SECRET, ini

RATES = {"guard": 26, "refresh": 10, "login": 4}
WINDOW = 9  # seconds of load at a time, after one that is not counted
CHUNK = 500_000
NO_ENV_FILE = {**os.environ, "AUTHSITE_ENV_FILE": os.devnull}
PAST = {"now": "now() - interval '90 days'", "soon": "now() - interval '60 days'"}


def main():
    """Fill, measure, and print what came of it."""
    options = argparse.ArgumentParser(prog="python -m bench.purge", description=__doc__)
    options.add_argument("--url", help="of an empty PostgreSQL database")
    options.add_argument("--expired", type=int, default=5_000_000)
    options.add_argument("--active", type=int, default=1_000_000)
    options.add_argument("--idle", type=int, default=60, help="seconds before the purge")
    options.add_argument("--seconds", type=int, help="of the purge, at most; its rest is left")
    options.add_argument("--whole", action="store_true", help="do not stop it in between")
    options.add_argument("--kill-at", type=int, help="rows; default: half of them")
    options.add_argument(
        "--fill", type=int, help="fill in at most this number of families and stop"
    )
    options.add_argument("--as-is", action="store_true", help="fill in nothing: go on from before")
    options.add_argument("--work", metavar="INI", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.work:
        return work(given.work)
    with tempfile.TemporaryDirectory(prefix="authsite-purge-") as name:
        path = ini(Path(name), given.url)
        if given.as_is or (fill(given) and not given.fill):
            measure(path, given)


def work(path):
    """`authsite purge`, and a line about each step."""
    ini = read_ini(path)
    cfg = load(ini, environment(folder_of(ini)))
    with (
        services_of(cfg) as services,
        own_connection(services.database) as connection,
        held(connection, Lock.CLEANUP) as ours,
    ):
        assert ours
        for step in steps(connection, services):
            print(json.dumps([step.cleanup.name, step.deleted, step.seconds]), flush=True)
            time.sleep(step.rest)


def fill(given):
    """The active ones first, then those that expired 60 days ago; whether all are there."""
    left = given.fill or given.active + given.expired
    before = families(given.url)
    if before < given.active:
        filling.fill(given.url, given.active, left)
        left -= families(given.url) - before
    ways = filling.WAYS["postgresql"] | PAST
    user = f"(1 + n % {given.active // filling.FAMILIES_PER_USER})"
    statement = text(filling.FAMILIES.format(**ways | {"user": ways["user"].format(user)}))
    database = open_database(given.url)
    wanted = given.active + given.expired
    there = families(given.url)
    while there < wanted and left > 0:
        count = min(CHUNK, wanted - there, left)
        with database.transactional.begin() as connection:
            connection.execute(text("SET LOCAL session_replication_role = replica"))
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            connection.execute(
                statement, {"first": there + 1, "last": there + count, "client": ways["client"]}
            )
        there, left = there + count, left - count
        print(f"{there:,} families", flush=True)
    if there >= wanted:
        filling._tidy(database)
    database.dispose()
    return there >= wanted


def families(url, *which):
    """How many there are."""
    database = open_database(url)
    with database.transactional.begin() as connection:
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        count = connection.scalar(select(func.count()).select_from(Family).where(*which))
    database.dispose()
    return count


def requests(url):
    """The requests of each kind, without end; no refresh token comes twice."""
    database, until = open_database(url), int((clock.now() + timedelta(days=1)).timestamp())
    cfg = load({"authsite.secret": SECRET, "authsite.database-url": url}, {})
    codec = TokenCodec(revealed(cfg.secret))
    active = select(Family.id, Family.generation).where(Family.refresh_expires_at > clock.now())
    with database.autocommit.connect() as connection:
        rows = connection.execute(active.limit(100_000)).all()
    database.dispose()
    random.Random(19).shuffle(rows)  # noqa: S311  no secrets here
    keys = {"client_id": str(filling.CLIENT_ID), "client_secret": filling.CLIENT_SECRET}
    refreshed = [
        {"grant_type": "refresh_token", "refresh_token": codec.encode(REFRESH, *row, until)}
        for row in rows[:20_000]
    ]
    logins = [
        {"grant_type": "password", "username": f"user{n}@example.com", "password": PASSWORD}
        for n in range(1, 500)
    ]
    bodies = {
        "refresh": [urlencode(each | keys) for each in refreshed],
        "login": [urlencode(each | keys) for each in logins],
    }
    streams = {name: pace.post("/v1/oauth/token", each) for name, each in bodies.items()}
    tokens = [codec.encode(ACCESS, *row, until) for row in rows[20_000:40_000]]
    return streams | {"guard": pace.get("/v1/user", tokens)}


def measure(path, given):
    """Load without a purge, with one, and without one again."""
    streams = {name: pace.Stream(RATES[name], each) for name, each in requests(given.url).items()}
    port = machine.free_port()
    serve = ("-m", "authsite", "serve", "--config", path, "--port", port, "--workers", 2)
    with machine.process(*serve, port=port, **{"AUTHSITE_ENV_FILE": os.devnull}):
        time.sleep(3)
        pace.run(port, 5, **streams)
        seen = {"before": loaded(port, streams, given.idle)}
        purge = Purge(path, given.kill_at or given.expired // 2)
        began = time.monotonic()
        while purge.works() and time.monotonic() - began < (given.seconds or float("inf")):
            more(seen, "at work", loaded(port, streams, WINDOW))
            if not given.whole:
                with purge.stopped():
                    more(seen, "stopped", loaded(port, streams, WINDOW))
        purge.end()
    report(given, seen, purge)


def loaded(port, streams, seconds):
    """All responses of each kind; after a second that is not counted."""
    pace.run(port, 1, **streams)
    return pace.run(port, seconds, **streams)


def more(seen, name, responses):
    """Put ``responses`` with those that are there under ``name``."""
    there = seen.setdefault(name, {kind: [] for kind in responses})
    for kind, some in responses.items():
        there[kind] += some


class Purge:
    """A purge that is killed at this number of rows, and another one that goes on from there."""

    def __init__(self, path, kill_at):
        self.path = path
        self.steps, self.refused, self.seconds = [], None, []
        self._ended = False
        self._thread = threading.Thread(target=self._run, args=(kill_at,))
        self._thread.start()

    def works(self):
        """Whether it is not through."""
        return self._thread.is_alive()

    @contextmanager
    def stopped(self):
        """It stands still during the block."""
        with suppress(ProcessLookupError):
            self._worker.send_signal(signal.SIGSTOP)
        yield
        with suppress(ProcessLookupError):
            self._worker.send_signal(signal.SIGCONT)

    def end(self):
        """Through or not."""
        self._ended = True
        self._worker.kill()
        self._thread.join()

    def _run(self, kill_at):
        for stop_at in (kill_at, None):
            began, deleted = time.monotonic(), 0
            self._worker = subprocess.Popen(
                [sys.executable, "-m", "bench.purge", "--work", self.path],
                env=NO_ENV_FILE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for line in self._worker.stdout:
                step = json.loads(line)
                self.steps.append(step)
                deleted += step[1]
                if self.refused is None and stop_at and deleted > stop_at / 2:
                    self.refused = self._second()
                if stop_at and deleted > stop_at:
                    self._worker.kill()
            self._worker.wait()
            self.seconds.append(time.monotonic() - began)
            if self._ended:
                return

    def _second(self):
        command = [sys.executable, "-m", "authsite", "purge", "--config", self.path]
        return subprocess.run(command, env=NO_ENV_FILE, capture_output=True, text=True)


def report(given, seen, purge):
    """Print it as Markdown."""
    sizes = [deleted for _, deleted, _ in purge.steps]
    times = sorted(1000 * seconds for _, _, seconds in purge.steps)
    print(f"{machine.describe()}; {given.expired:,} expired, {given.active:,} active at first\n")
    print("| load | guard p50 ms | p99 | refresh p50 | p99 | login p50 | p99 | statuses |")
    print("|---|---|---|---|---|---|---|---|")
    for name, responses in seen.items():
        cells = [
            f"{pace.median(responses[kind]):.2f} | {pace.percentile(responses[kind], 0.99):.2f}"
            for kind in RATES
        ]
        statuses = Counter(
            200 if each.status == 200 else f"{kind} {each.status}"
            for kind, some in responses.items()
            for each in some
        )
        print(f"| {name} | {' | '.join(cells)} | {dict(statuses)} |")
    print(
        f"\n{len(times)} batches: median {statistics.median(times):.1f} ms, p99 "
        f"{times[int(len(times) * 0.99)]:.1f}, longest {times[-1]:.1f}, "
        f"{sum(each > 200 for each in times)} over 200; "
        f"at most {max(sizes)} rows; {sum(sizes):,} deleted"
    )
    print(
        "seconds until killed, and from then to the end:", [round(each) for each in purge.seconds]
    )
    if purge.refused:
        print(f"the second runner: {purge.refused.returncode}, {purge.refused.stderr.strip()}")
    expired = families(given.url, Family.refresh_expires_at <= clock.now())
    print(f"left: {expired} expired, {families(given.url):,} in all")


if __name__ == "__main__":
    main()
