"""``python -m bench.scale --url postgresql://…``: the cost and the gain of one more process.

Rates and processor time of `authsite serve` and of PostgreSQL (on this machine) for one request,
with one worker and with two, and the number of connections.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import psycopg

from . import load, machine, seed


def main():
    """Print one table."""
    options = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    options.add_argument("--url", required=True, help="an empty PostgreSQL database of your own")
    options.add_argument("--seconds", type=int, default=6, help="of one load")
    given = options.parse_args()
    print(f"{machine.describe()}\n")
    print("| workers | what | per second | p99 ms | server µs | PostgreSQL µs | connections |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="authsite-bench-") as name:
        folder = Path(name)
        ini = seed.ini(folder, given.url)
        files, pools, keys = seed.fill(folder, given.url, 2)
        for workers in (1, 2):
            port = machine.free_port()
            serve = ("-m", "authsite", "serve", "--config", ini, "--port", port)
            no_env_file = {"AUTHSITE_ENV_FILE": os.devnull}
            with machine.process(*serve, "--workers", workers, port=port, **no_env_file) as (
                pid,
                _,
            ):
                time.sleep(2)
                for what, load_options in jobs(files, next(pools), keys).items():
                    print(row(workers, what, pid, port, load_options, given), flush=True)


def jobs(files, pool, keys):
    """What is load_options, by name."""
    token = "/v1/oauth/token"
    return {
        "guarded GET /v1/user": {"path": "/v1/user", "tokens": files["access"]},
        "client credentials": {"method": "POST", "path": token, "bodies": files["credentials"]},
        "refresh": {"path": token, "refresh": pool, "extra": keys},
    }


def row(workers, what, pid, port, load_options, given):
    """The table's row of one load."""
    with psycopg.connect(given.url) as asker:
        postmaster = machine.parent(asker.info.backend_pid)
        before = machine.busy([pid]), machine.busy([postmaster])
        seen = load.run(port, seconds=given.seconds, **load_options)
        after = machine.busy([pid]), machine.busy([postmaster])
        [connections] = asker.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
    each = [1e6 * (b - a) / (seen.rate * given.seconds) for a, b in zip(before, after, strict=True)]
    return (
        f"| {workers} | {what} | {seen.rate:,.0f} | {seen.p99:.0f} | {each[0]:.0f} "
        f"| {each[1]:.0f} | {connections} |"
    )


if __name__ == "__main__":
    main()
