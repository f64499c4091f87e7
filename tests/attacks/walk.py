"""Walk through the machine: ``python -m tests.attacks.walk --steps 200000 --seed 1``.

It ends with status 1 at the first step that the model contradicts, and says how many it took.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from .checks import Checks
from .driver import Driver
from .surroundings import Surroundings

RUN = 50  # steps from the first state


def machine(driver):
    """The state machine for an application."""
    return type("Machine", (Surroundings,), {"driver": driver})


def memory_folder():
    """A new folder in memory, where the system has one: nothing waits for a disk."""
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(prefix="authsite-", dir=memory if memory.is_dir() else None)


def options(steps, **more):
    """Settings of Hypothesis for about this number of steps."""
    return settings(
        max_examples=max(1, steps // RUN),
        stateful_step_count=RUN,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        **more,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shrink", action="store_true", help="find the shortest story of a fault")
    given = parser.parse_args()
    phases = [Phase.generate, *([Phase.shrink] if given.shrink else [])]
    with memory_folder() as folder:
        driver = Driver("sqlite", folder)
        walked, began = seed(given.seed)(machine(driver)), time.monotonic()
        try:
            run_state_machine_as_test(
                walked, settings=options(given.steps, database=None, phases=phases)
            )
        finally:
            took = time.monotonic() - began
            print(f"{Checks.steps} steps in {took:.0f} s, {Checks.steps / took:.0f} a second")
            driver.site.database.dispose()


if __name__ == "__main__":
    sys.exit(main())
