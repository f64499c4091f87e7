"""The number of usable processor cores."""

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary


def usable_cores() -> int:
    """The number of cores this process may use; taskset and containers restrict it."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# What a process that was forked does first: threads and connections stay with its parent.
#
# The hooks of `os.register_at_fork` can be neither removed nor given an object that may end
# before the process, so there is one for all objects.


T = TypeVar("T")

_renewals: "WeakKeyDictionary[Any, Callable[[Any], None]]" = WeakKeyDictionary()


def after_fork(target: T, renew: Callable[[T], None]) -> None:
    """Call ``renew(target)`` in each process that is forked while ``target`` exists.

    ``renew`` must not refer to ``target``, which would never be freed: give a function of the
    class, and not a bound method.
    """
    _renewals[target] = renew


def _renew_all() -> None:
    for target, renew in list(_renewals.items()):
        renew(target)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
