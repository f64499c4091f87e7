"""What this process has counted since it started, for ``/metrics``: plain numbers in memory.

A label has one of a few values: a route's name, a status, an error code. It is never an identifier,
such as a user, a client, an address or a token.

The values of prometheus-client for several processes are memory-mapped files. To count in them
takes three to four times as long, and a write to one on a full disk ends the process
(SIGBUS). So the numbers are counted here, and `monitoring.exposition` hands them to the library.
"""

import threading
from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

from authsite import clock

# Times are counted in units of 1/2^20 s (about 1 µs), so that sums of them are exact. Otherwise the
# sum over several processes would depend on their order and could shrink by a rounding error, which
# Prometheus takes for a new start.
_UNITS = 2**20

Labels = tuple[object, ...]
Kind = Literal["counter", "histogram", "time"]
Values = dict[str, list[tuple[tuple[str, ...], list[float]]]]
"""For each name of a metric: the values of its labels, and the numbers of each."""

# Upper bounds in seconds: from a guarded request (1 ms) to a login that waits for its hash.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metric:
    """Numbers by the values of their labels."""

    kind: Kind

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        self.name, self.text, self.labels = name, text, tuple(labels)
        self._numbers: dict[Labels, list[float]] = {}
        self._lock = threading.Lock()
        METRICS[name] = self

    def values(self) -> list[tuple[tuple[str, ...], list[float]]]:
        """All numbers, as they are now."""
        with self._lock:
            return [
                (tuple(map(str, labels)), numbers.copy())
                for labels, numbers in self._numbers.items()
            ]


class Counter(Metric):
    """A number that only grows."""

    kind = "counter"

    def add(self, *labels: object) -> None:
        """Count one."""
        with self._lock:
            numbers = self._numbers.get(labels)
            if numbers is None:
                self._numbers[labels] = [1]
            else:
                numbers[0] += 1


class Histogram(Metric):
    """How long something takes: the sum of all seconds, then how many are in each bucket."""

    kind = "histogram"

    def observe(self, seconds: float, *labels: object) -> None:
        """Count one that took ``seconds``."""
        with self._lock:
            numbers = self._numbers.get(labels)
            if numbers is None:
                numbers = self._numbers[labels] = [0.0] * (len(BOUNDS) + 2)
            numbers[0] += round(seconds * _UNITS) / _UNITS
            numbers[bisect_left(BOUNDS, seconds) + 1] += 1


class LatestTime(Metric):
    """When something happened last, and since when it is awaited, in seconds since 1970.

    Without the second time an alert could not tell what never happens from what does not exist.
    """

    kind = "time"

    def begin(self, *labels: object) -> None:
        """It is awaited from now on; it has not happened yet."""
        with self._lock:
            self._numbers[labels] = [0.0, clock.now().timestamp()]

    def note(self, *labels: object) -> None:
        """It happened now."""
        now = clock.now().timestamp()
        with self._lock:
            self._numbers[labels] = [now, self._numbers.get(labels, (0.0, now))[1]]


METRICS: dict[str, Metric] = {}

REQUESTS = Histogram(
    "authsite_request_seconds",
    "Requests, from the whole request to its response; waits for a worker thread included.",
    ("route", "method", "status"),
)
GUARDED = Counter(
    "authsite_guard_decisions",
    "Requests that a guard has accepted, or why it has rejected them.",
    ("guard", "outcome"),
)
LOGINS = Counter(
    "authsite_logins",
    "Logins with a password, on all paths; failed: wrong name or password, or a disabled user.",
    ("outcome",),
)
HASH_WAITS = Histogram(
    "authsite_hash_wait_seconds", "How long password hashes have waited for a thread."
)
HASHES_REJECTED = Counter(
    "authsite_hashes_rejected", "Password hashes that were rejected: all threads were busy."
)
RATE_LIMITED = Counter(
    "authsite_rate_limited", "Attempts over a rate limit, by the name of the limit.", ("limit",)
)
MAILS = Counter(
    "authsite_mails",
    "What became of mails: sent, expired, dead (given up), or waiting for another try.",
    ("outcome",),
)
TASK_SUCCESS = LatestTime(
    "authsite_task_last_success_timestamp_seconds",
    "When a background task has last done its work without an error, or else has started.",
    ("task",),
)


def counted() -> Values:
    """The numbers of all metrics of this process."""
    return {name: metric.values() for name, metric in METRICS.items()}


def add_up(parts: Sequence[Values]) -> Values:
    """The numbers of several processes together: sums, or when something happened last.

    Since when it is awaited is the earliest time: a process that was started again did not do it.
    """
    found: dict[str, dict[tuple[str, ...], list[float]]] = {name: {} for name in METRICS}
    for part in parts:
        for name, metric in METRICS.items():
            together = found[name]
            for labels, numbers in part.get(name, ()):
                key = tuple(labels)
                before = together.get(key)
                if before is None:
                    together[key] = list(numbers)
                elif metric.kind == "time":
                    together[key] = [max(before[0], numbers[0]), min(before[1], numbers[1])]
                else:
                    together[key] = [
                        float(one) + other for one, other in zip(before, numbers, strict=True)
                    ]
    return {name: list(together.items()) for name, together in found.items()}
