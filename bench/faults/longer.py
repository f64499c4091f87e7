"""Runs that are separate benchmarks, with a table each: they run only when they are named."""

import subprocess
import sys

from tests.support.postgres import cluster

# The module of `bench`, and its options; each needs minutes or hours.
BENCHMARKS = {
    "R9": ("mail_kill",),
    "R10": ("mail_kill",),
    "R13": ("storm", "built", "--storm-seconds", "40"),
    "R14": ("slow",),
    "R15": ("slow",),
    "R18": ("growth",),
    "R19": ("purge",),
    "R23": ("soak", "--minutes", "120"),
}
ON_POSTGRESQL = ("R13", "R18", "R19", "R23")


def run(name):
    """Run a benchmark, which prints its own table; whether it ended with status 0."""
    module, *options = BENCHMARKS[name]
    if name not in ON_POSTGRESQL:
        return _run(module, options)
    with cluster() as postgres:
        postgres.create()
        return _run(module, [*options, "--url", postgres.url])


def _run(module, options):
    return subprocess.run([sys.executable, "-m", f"bench.{module}", *options]).returncode == 0
