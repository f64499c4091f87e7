"""Runs the faults that are named, or all; see `bench.faults`."""

import argparse
import sys
import time

from .. import machine
from . import longer, rows
from .runs import NAMED, RUNS


def main():
    """Print each row as soon as it is known; write all into the page."""
    options = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    options.add_argument("--only", help="runs by their ids, such as R4,R5; default: all")
    options.add_argument("--short", action="store_true", help="seconds instead of minutes")
    options.add_argument("--no-page", action="store_true", help="leave docs/reliability.md alone")
    given = options.parse_args()
    names = (
        given.only.upper().split(",")
        if given.only
        else [name for name in RUNS if name not in NAMED]
    )
    known = {**RUNS, **longer.BENCHMARKS}
    if unknown := set(names) - set(known):
        options.error(f"no such run: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    print(f"{machine.describe()}; two workers\n\n{rows.HEAD}", end="", flush=True)
    missed = False
    for name in names:
        if name in longer.BENCHMARKS:
            missed = not longer.run(name) or missed
            continue
        began = time.monotonic()
        found = RUNS[name](given.short)
        for row in found:
            print(row.line(), flush=True)
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
        missed = missed or not all(row.met for row in found)
        if not (given.short or given.no_page):
            rows.write(found)  # after each run, so that a later failure loses nothing
    sys.exit(missed)


if __name__ == "__main__":
    main()
