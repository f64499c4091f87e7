"""Load by wrk: rates in responses per second, percentiles in milliseconds."""

import os
import shutil
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

LUA = Path(__file__).parent / "lua" / "load.lua"


@dataclass(frozen=True)
class Load:
    """What one run of wrk saw."""

    rate: float
    p50: float
    p99: float
    refused: int
    broken: int


def command(port, connections, seconds):
    """The wrk command; its environment says what is sent (lua/load.lua)."""
    if shutil.which("wrk") is None:
        raise SystemExit("The benchmark needs wrk: apt-get install wrk (or brew install wrk).")
    return [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{seconds}s",
        "--timeout",
        "60s",
        "-s",
        str(LUA),
        f"http://127.0.0.1:{port}/",
    ]


def environment(**what):
    """``path="/v1/user", tokens=file`` as wrk's environment."""
    return {**os.environ, **{f"BENCH_{name.upper()}": str(value) for name, value in what.items()}}


def parse(output):
    """The line that lua/load.lua prints at the end."""
    for line in output.splitlines():
        if line.startswith("REPORT "):
            done, micros, refused, broken, p50, p99 = map(int, line.split()[1:])
            return Load((done - refused) / (micros / 1e6), p50 / 1000, p99 / 1000, refused, broken)
    raise RuntimeError(f"wrk gave no report:\n{output}")


def run(port, *, connections=32, seconds=5, **what):
    """One run."""
    done = subprocess.run(
        command(port, connections, seconds),
        env=environment(**what),
        capture_output=True,
        text=True,
        check=False,
    )
    return parse(done.stdout + done.stderr)


def median(loads):
    """The run in the middle by rate, and the spread of all rates as text."""
    rates = [load.rate for load in loads]
    middle = sorted(loads, key=lambda load: load.rate)[len(loads) // 2]
    return middle, f"{min(rates):,.0f}–{max(rates):,.0f}"


def mean_rate(loads):
    """The median rate alone."""
    return statistics.median(load.rate for load in loads)
