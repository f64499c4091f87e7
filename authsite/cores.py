"""How many processor cores there are for us."""

import os
import sys


def usable_cores() -> int:
    """The cores this process may run on: fewer than the machine has under taskset or in a box."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
