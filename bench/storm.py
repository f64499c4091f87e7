"""``python -m bench.storm``: guarded requests while many users log in, with different hash pools.

Three loads on `authsite serve` with two workers: guarded requests as fast as four connections can
make them, while eight log in; 200 guarded requests per second, while eight log in; and these 200
while 50 logins per second arrive, five times what two cores can hash (R13 of docs/reliability.md).
"""

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

from . import load, machine, pace, seed

WORKERS = 2
NONE = "none"


def main():
    """One row for each pool."""
    options = argparse.ArgumentParser(prog="python -m bench.storm", description=__doc__)
    options.add_argument(
        "pools", nargs="*", default=["built"], help=f"built, {NONE}, or THREADS,QUEUE,NICENESS"
    )
    options.add_argument("--seconds", type=int, default=12, help="of one load")
    options.add_argument("--storm-seconds", type=int, default=20, help="of the third load")
    options.add_argument("--url", help="an empty database of your own (default: SQLite)")
    given = options.parse_args()
    print(f"{machine.describe()}; {WORKERS} workers\n")
    print(
        "| pool | rate alone /s | with 8 logins, of it | p99 ms | logins, of bcrypt's "
        "| at 200/s: p99 ms | logins, of bcrypt's | at 50 logins/s: p50, p99 ms | logins/s "
        "| refused in (p50, p99) ms | other answers |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="authsite-bench-") as name:
        folder = Path(name)
        url = given.url or f"sqlite:///{folder}/bench.sqlite"
        ini = seed.ini(folder, url)
        files, _pools, _keys = seed.fill(folder, url, 1)
        for pool in given.pools:
            limit = machine.bcrypt_limit()
            with serving(ini, pool) as port:
                time.sleep(2)
                print(row(pool, limit, port, files, given), flush=True)


def serving(ini, pool):
    """`authsite serve`, or the same with another pool; yields the port."""
    port = machine.free_port()
    variables = {"AUTHSITE_ENV_FILE": os.devnull, "AUTHSITE_CONFIG": str(ini)}
    if pool == "built":
        serve = ("-m", "authsite", "serve", "--port", port, "--workers", WORKERS)
    else:
        serve = ("-m", "bench.serve", "pooled", port, WORKERS)
        variables["BENCH_POOL"] = pool
    return machine.listening(*serve, port=port, **variables)


def row(pool, limit, port, files, given):
    """The table's row of one pool."""
    guarded = {"path": "/v1/user", "tokens": files["access"]}
    alone = load.run(port, connections=4, seconds=given.seconds // 2, **guarded)
    with logins(port, files, given.seconds + 4) as against_greedy:
        greedy = load.run(port, connections=4, seconds=given.seconds, **guarded)
    access, bodies = files["access"].read_text().split(), files["password"].read_text().split()
    calm = pace.Stream(200, pace.get("/v1/user", access))
    with logins(port, files, given.seconds + 4) as against_calm:
        steady = pace.run(port, given.seconds, guarded=calm)["guarded"]
    many = pace.Stream(50, pace.post("/v1/oauth/token", bodies))
    seen = pace.run(port, given.storm_seconds, guarded=calm, logins=many)
    return (
        f"| {pool} | {alone.rate:,.0f} | {greedy.rate / alone.rate:.2f} | {greedy.p99:.1f} "
        f"| {against_greedy[0].rate / limit:.2f} | {pace.percentile(steady, 0.99):.1f} "
        f"| {against_calm[0].rate / limit:.2f} | {storm(seen, given.storm_seconds)} |"
    )


def storm(seen, seconds):
    """The columns of the third load."""
    guarded, issued = seen["guarded"], seen["logins"]
    done = [answer for answer in issued if answer.status == 200]
    refused = [answer for answer in issued if answer.status in (429, 503)]
    wrong = len(issued) - len(done) - len(refused) + sum(a.status != 200 for a in guarded)
    times = (pace.percentile(guarded, 0.5), pace.percentile(guarded, 0.99))
    no = (pace.percentile(refused, 0.5), pace.percentile(refused, 0.99))
    return (
        f"{times[0]:.1f}, {times[1]:.1f} | {len(done) / seconds:.1f} | "
        f"{no[0]:.1f}, {no[1]:.1f} ({len(refused)}) | {wrong}"
    )


class logins:
    """Eight connections that log in during the block; holds their `load.Load` afterwards."""

    def __init__(self, port, files, seconds):
        self.command = load.command(port, 8, seconds)
        self.environment = load.environment(
            method="POST", path="/v1/oauth/token", bodies=files["password"]
        )
        self.loads = []

    def __enter__(self):
        self.running = subprocess.Popen(
            self.command,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        time.sleep(2)
        return self.loads

    def __exit__(self, *failure):
        self.loads.append(load.parse(self.running.communicate()[0]))


if __name__ == "__main__":
    main()
