"""``make bench``: authsite, a bare view and a prototype on SQLite, measured in one run.

Every rate is the median of interleaved runs, and is also shown as a ratio. Compare only ratios
within one run, since machines are noisy.
"""

import argparse
import http.client
import os
import tempfile
import time
from pathlib import Path

from . import load, machine, seed

WORKERS = 2
WARM = "guard-cache"  # a run before that is not counted: each process sees each token


def main():
    """Run everything and print one table."""
    options = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=int, default=4, help="of one run")
    options.add_argument("--url", help="a database of your own; it is filled and not emptied")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="authsite-bench-") as name:
        measure(Path(name), given.rounds, given.seconds, given.url)


def measure(folder, rounds, seconds, url=None):
    """The table."""
    url = url or f"sqlite:///{folder}/bench.sqlite"
    ini, cached = seed.ini(folder, url), seed.ini(folder, url, "cached", guard_cache="1s")
    files, pools, app_keys = seed.fill(folder, url, rounds)
    prototype_url = f"sqlite:///{folder}/prototype.sqlite" if url.startswith("sqlite") else url
    prototype_tokens = seed.fill_prototype(folder, prototype_url)
    ports = [machine.free_port() for _ in range(6)]
    serve = ("-m", "authsite", "serve", "--workers", WORKERS, "--config")
    no_env_file = {"AUTHSITE_ENV_FILE": os.devnull}
    with (
        machine.process("-m", "bench.serve", "bare", ports[0], WORKERS, port=ports[0]),
        machine.process(
            "-m",
            "bench.serve",
            "prototype",
            ports[1],
            WORKERS,
            port=ports[1],
            BENCH_DATABASE_URL=prototype_url,
        ),
        machine.process("-m", "bench.serve", "bridged", ports[3], WORKERS, port=ports[3]),
        machine.process(*serve, cached, "--port", ports[4], port=ports[4], **no_env_file),
        machine.process(
            "-m",
            "bench.serve",
            "guarded",
            ports[5],
            WORKERS,
            port=ports[5],
            AUTHSITE_CONFIG=str(cached),
            **no_env_file,
        ),
        machine.process(*serve, ini, "--port", ports[2], port=ports[2], **no_env_file) as (
            pid,
            began,
        ),
    ):
        first = first_answer(ports[2], began)
        time.sleep(2)
        jobs = {
            "bare JSON view": (ports[0], {"path": "/"}),
            "bare JSON view, our server": (ports[3], {"path": "/"}),
            "prototype of a guard": (ports[1], {"path": "/", "tokens": prototype_tokens}),
            "guarded GET /v1/user": (ports[2], {"path": "/v1/user", "tokens": files["access"]}),
            "forward auth": (ports[2], {"path": "/v1/guard/api", "tokens": files["access"]}),
            "forward auth, guard-cache = 1s": (
                ports[4],
                {"path": "/v1/guard/api", "tokens": files["access"]},
            ),
            "a host's guarded view, guard-cache = 1s": (
                ports[5],
                {"path": "/", "tokens": files["access"]},
            ),
            "introspection": (
                ports[2],
                {
                    "method": "POST",
                    "path": "/v1/oauth/introspect",
                    "bodies": files["introspection"],
                },
            ),
            "client credentials": (
                ports[2],
                {"method": "POST", "path": "/v1/oauth/token", "bodies": files["credentials"]},
            ),
            "refresh": (
                ports[2],
                {"path": "/v1/oauth/token", "extra": app_keys},
            ),
            "login page": (ports[2], {"path": "/login"}),
        }
        seen = {name: [] for name in jobs}
        for _ in range(rounds):
            for name, (port, what) in jobs.items():
                if name == "refresh":  # each round needs unused refresh tokens
                    what = {**what, "refresh": next(pools)}
                if WARM in name:
                    load.run(port, seconds=6, **what)
                seen[name].append(load.run(port, seconds=seconds, **what))
        hashes = machine.bcrypt_limit()
        logins = [
            load.run(
                ports[2],
                connections=8,
                seconds=12,
                method="POST",
                path="/v1/oauth/token",
                bodies=files["password"],
            )
        ]
        memory = machine.largest_worker(pid)
    report(seen, logins, hashes, memory, first)


def first_answer(port, began):
    """Seconds from the start of the command to the first answer."""
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/v1/user")
            if connection.getresponse().status == 401:
                return time.monotonic() - began
        except OSError:
            time.sleep(0.01)


def report(seen, logins, hashes, memory, first):
    """Print the table, as Markdown."""
    print(f"{machine.describe()}; {WORKERS} workers\n")
    print("| what | per second | spread | p50 ms | p99 ms | of the bare view | of the prototype |")
    print("|---|---|---|---|---|---|---|")
    bare = load.mean_rate(seen["bare JSON view"])
    prototype = load.mean_rate(seen["prototype of a guard"])
    for name, loads in seen.items():
        middle, spread = load.median(loads)
        wrong = sum(each.refused + each.broken for each in loads)
        note = f" ({wrong} wrong answers!)" if wrong else ""
        ratios = f"{middle.rate / bare:.2f} | {middle.rate / prototype:.2f}"
        times = f"{middle.p50:.1f} | {middle.p99:.1f}"
        print(f"| {name}{note} | {middle.rate:,.0f} | {spread} | {times} | {ratios} |")
    login, _ = load.median(logins)
    print(
        f"\nPassword grants at bcrypt cost 12: {login.rate:.2f}/s, "
        f"{login.rate / hashes:.2f} of the {hashes:.2f}/s that bcrypt alone does."
    )
    print(
        f"From `authsite serve` to the first answer: {first:.2f} s. "
        f"The largest process: {memory:.0f} MB resident."
    )


if __name__ == "__main__":
    main()
