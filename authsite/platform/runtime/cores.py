"""The number of usable processor cores."""

import os
import sys


def usable_cores() -> int:
    """The number of cores this process may use; taskset and containers restrict it."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
