"""``python -m bench.soak``: the memory of the workers by the minute, at 30 requests a second."""

import argparse
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

from . import machine, pace, seed

WORKERS = 2
LOGINS = 0.5  # a second; the other requests are guarded ones (26 a second) and client credentials


def main():
    """Print one table."""
    options = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    options.add_argument("--url", help="an empty database of your own (default: SQLite)")
    options.add_argument("--minutes", type=int, default=16)
    given = options.parse_args()
    print(f"{machine.describe()}; {WORKERS} workers\n")
    print("| minute | largest worker MB | open files | responses other than 200 | p99 ms |")
    print("|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="authsite-bench-") as name:
        folder = Path(name)
        url = given.url or f"sqlite:///{folder}/bench.sqlite"
        ini = seed.ini(folder, url)
        files, _pools, _keys = seed.fill(folder, url, 1)
        texts = {name: path.read_text().split() for name, path in files.items()}
        port = machine.free_port()
        serve = ("-m", "authsite", "serve", "--config", ini, "--port", port, "--workers", WORKERS)
        no_env_file = {"AUTHSITE_ENV_FILE": os.devnull}
        with machine.process(*serve, port=port, **no_env_file) as (pid, _began):
            time.sleep(2)
            for minute in range(1, given.minutes + 1):
                print(row(minute, pid, pace.run(port, 60, **streams(texts))), flush=True)


def streams(texts):
    """What is sent, built again for each minute."""
    token = "/v1/oauth/token"
    return {
        "guarded": pace.Stream(26, pace.get("/v1/user", texts["access"])),
        "credentials": pace.Stream(3.5, pace.post(token, texts["credentials"])),
        "logins": pace.Stream(LOGINS, pace.post(token, texts["password"])),
    }


def row(minute, pid, seen):
    """The table's row of one minute."""
    statuses = Counter(answer.status for responses in seen.values() for answer in responses)
    wrong = ", ".join(f"{n} × {status}" for status, n in statuses.items() if status != 200)
    p99 = pace.percentile(seen["guarded"], 0.99)
    memory = machine.largest_worker(pid)
    return f"| {minute} | {memory:.1f} | {machine.open_files(pid)} | {wrong} | {p99:.1f} |"


if __name__ == "__main__":
    main()
