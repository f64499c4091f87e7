"""``python -m bench.standbys``: guards that standbys answer (`database-read-url`).

First how long a revoked token is accepted: while a standby follows, lags, stops replaying, and is
promoted. Two processes answer forward auth by it, another one revokes on the primary. Then the
processor time of a guarded request on the primary, on its standbys and in authsite, with none to
three of them, interleaved. The PostgreSQL servers are the bench's own.
"""

import argparse
import heapq
import http.client
import os
import statistics
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg

from tests.support.postgres import NAME, cluster

from . import load, machine, seed

LAG = 1  # seconds: `database-read-lag`
THREADS = 4
LIVE = 2000  # tokens that are not revoked
# Seconds after a revocation at which its token is tried; three times after the lag.
TRIED = (0.01, 0.3, 0.6, 0.9, LAG + 0.001, LAG + 0.05, LAG + 0.3)
NO_ENV_FILE = {"AUTHSITE_ENV_FILE": os.devnull}
SERVE = ("-m", "authsite", "serve", "--config")


def main():
    """Print two tables."""
    options = argparse.ArgumentParser(prog="python -m bench.standbys", description=__doc__)
    options.add_argument("--revocations", type=int, default=10_000, help="in all four cases")
    options.add_argument("--seconds", type=int, default=5, help="of one load")
    options.add_argument("--rounds", type=int, default=3, help="of loads")
    given = options.parse_args()
    seed.FAMILIES = given.revocations + LIVE
    print(f"{machine.describe()}\n")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="authsite-bench-")))
        primary, *standbys = [stack.enter_context(cluster()) for _ in range(4)]
        primary.create()
        plain = seed.ini(folder, primary.url)
        files, _, keys = seed.fill(folder, primary.url, 0)
        for standby in standbys:
            standby.follow(primary)
        tokens = files["access"].read_text().split()
        live = folder / "live"
        live.write_text("\n".join(tokens[:LIVE]) + "\n")
        processor_time(folder, primary, standbys, live, given)
        revocations(folder, primary, standbys[0], plain, tokens[LIVE:], keys, live)


def ini(folder, primary, standbys):
    """The settings of a server with these standbys."""
    name = f"standbys{len(standbys)}"
    if not standbys:
        return seed.ini(folder, primary.url, name)
    hosts = ",".join(f"127.0.0.1:{each.port}" for each in standbys)
    url = f"postgresql://{NAME}@{hosts}/{NAME}"
    return seed.ini(folder, primary.url, name, database_read_url=url, database_read_lag=f"{LAG}s")


def processor_time(folder, primary, standbys, tokens, given):
    """Print µs for one request, and the share of all requests that standbys answered."""
    found = {}
    for _ in range(given.rounds):
        for count in range(len(standbys) + 1):
            settings = ini(folder, primary, standbys[:count])
            measured = one_load(settings, primary, standbys, tokens, given.seconds)
            found.setdefault(count, []).append(measured)
    print("| standbys | primary µs | all standbys µs | authsite µs | answered by standbys |")
    print("|---|---|---|---|---|")
    for count, rows in found.items():
        middle = [statistics.median(column) for column in zip(*rows, strict=True)]
        print("| {} | {:.1f} | {:.1f} | {:.0f} | {:.1%} |".format(count, *middle), flush=True)
    print()


def one_load(settings, primary, standbys, tokens, seconds):
    """Processor time of one request: primary, all standbys, authsite; and who answered."""
    port = machine.free_port()
    with machine.process(*SERVE, settings, "--port", port, port=port, **NO_ENV_FILE) as (pid, _):
        load.run(port, seconds=2, path="/v1/guard/api", tokens=tokens)  # until all is connected
        parts = [primary.process.pid], [each.process.pid for each in standbys], [pid]
        before, counted = [machine.busy(each) for each in parts], counts(port)
        load.run(port, seconds=seconds, path="/v1/guard/api", tokens=tokens)
        after = [machine.busy(each) for each in parts]
        requests, answered = (b - a for a, b in zip(counted, counts(port), strict=True))
    times = (1e6 * (b - a) / requests for a, b in zip(before, after, strict=True))
    return [*times, answered / requests]


def counts(port):
    """How many requests guards have accepted, and how many of them by a standby."""
    server = http.client.HTTPConnection("127.0.0.1", port)
    server.request("GET", "/metrics")
    lines = server.getresponse().read().decode().splitlines()
    server.close()
    wanted = (
        'authsite_guard_decisions_total{guard="api",outcome="accepted"} ',
        'authsite_standby_reads_total{outcome="answered"} ',
    )
    numbers = dict(line.rsplit(" ", 1) for line in lines if line.startswith(wanted))
    return [float(numbers.get(each.strip(), 0)) for each in wanted]


def revocations(folder, primary, standby, plain, tokens, keys, live):
    """Print what became of revoked tokens in each of the cases."""
    print("| the standby | revocations | tried | accepted within the lag | longest ms | later |")
    print("|---|---|---|---|---|---|")
    guards, ports = ini(folder, primary, [standby]), [machine.free_port() for _ in range(2)]
    with (
        machine.process(*SERVE, plain, "--port", ports[0], port=ports[0], **NO_ENV_FILE),
        machine.process(
            *SERVE, guards, "--port", ports[1], "--workers", 2, port=ports[1], **NO_ENV_FILE
        ),
    ):
        time.sleep(3)
        each = len(tokens) // len(CASES)
        for number, (name, case) in enumerate(CASES.items()):
            with case(standby), under_load(ports[1], live):
                some = tokens[number * each : (number + 1) * each]
                watchers = [Watcher(ports, some[at::THREADS], keys) for at in range(THREADS)]
                for watcher in watchers:
                    watcher.start()
                for watcher in watchers:
                    watcher.join()
            after = sorted(seconds for watcher in watchers for seconds in watcher.accepted)
            late = sum(seconds > LAG for seconds in after)
            tried = sum(watcher.tried for watcher in watchers)
            print(
                f"| {name} | {len(some)} | {tried} | {len(after) - late}"
                f" | {1000 * (after or [0])[-1]:.0f} | {late} |",
                flush=True,
            )


class Watcher(threading.Thread):
    """Revokes one token after another, and tries each at the moments of `TRIED`.

    ``accepted``: the start of each accepted request, in seconds after the response to the
    revocation of its token.
    """

    def __init__(self, ports, tokens, keys):
        super().__init__()
        self._server, self._guard = (http.client.HTTPConnection("127.0.0.1", p) for p in ports)
        self._tokens, self._keys, self._due = iter(tokens), keys, []
        self.accepted, self.tried = [], 0

    def run(self):
        """Until every token was revoked, and tried for the last time."""
        token = next(self._tokens, None)
        while token or self._due:
            rest = self._due[0][0] - time.monotonic() if self._due else 0
            if self._due and rest <= 0:
                _, revoked_at, tried = heapq.heappop(self._due)
                self._try(tried, revoked_at)
            elif token:
                self._revoke(token)
                token = next(self._tokens, None)
            else:
                time.sleep(rest)
        self._server.close()
        self._guard.close()

    def _revoke(self, token):
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        self._server.request("POST", "/v1/oauth/revoke", f"token={token}{self._keys}", form)
        response = self._server.getresponse()
        response.read()
        if response.status != 200:
            raise SystemExit("a token could not be revoked")
        revoked_at = time.monotonic()
        for seconds in TRIED:
            heapq.heappush(self._due, (revoked_at + seconds, revoked_at, token))

    def _try(self, token, revoked_at):
        began = time.monotonic()
        self._guard.request("GET", "/v1/guard/api", headers={"Authorization": f"Bearer {token}"})
        response = self._guard.getresponse()
        response.read()
        self.tried += 1
        if response.status == 204:
            self.accepted.append(began - revoked_at)
        elif response.status != 401:
            raise SystemExit(f"forward auth answered {response.status}")


@contextmanager
def under_load(port, live):
    """Forward auth is asked about other tokens as well, on four connections."""
    done = threading.Event()

    def loads():
        while not done.is_set():
            load.run(port, connections=4, seconds=2, path="/v1/guard/api", tokens=live)

    thread = threading.Thread(target=loads)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def follows(_standby):
    """As it should."""
    yield


@contextmanager
def lags(standby):
    """It replays each commit 0.6 s later, which is less than the lag."""
    with standby.connect("postgres") as connection:
        connection.execute("ALTER SYSTEM SET recovery_min_apply_delay = '600ms'")
        connection.execute("SELECT pg_reload_conf()")
        time.sleep(1)
        yield
        connection.execute("ALTER SYSTEM RESET recovery_min_apply_delay")
        connection.execute("SELECT pg_reload_conf()")
        time.sleep(1)


@contextmanager
def stops(standby):
    """It stops replaying in turns: two seconds, and one in which it catches up."""
    done = threading.Event()

    def turns():
        with psycopg.connect(standby.url, autocommit=True) as connection:
            while not done.wait(1):
                connection.execute("SELECT pg_wal_replay_pause()")
                done.wait(2)
                connection.execute("SELECT pg_wal_replay_resume()")

    thread = threading.Thread(target=turns)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def is_promoted(standby):
    """It becomes a primary after a second, while the primary lives."""
    timer = threading.Timer(1, standby.promote)
    timer.start()
    yield
    timer.join()


CASES = {
    "follows": follows,
    "lags by 0.6 s": lags,
    "stops replaying for 2 s of every 3 s": stops,
    "is promoted after 1 s": is_promoted,
}


if __name__ == "__main__":
    main()
