"""What this process has counted since it started, for ``/metrics``: plain numbers in memory.

A label has few possible values, such as the names of routes, statuses or error codes. Its value
never identifies a user, a client, an address or a token.

For several processes prometheus-client keeps its numbers in memory-mapped files. Counting there
takes three to four times as long, and a write on a full disk ends the process (SIGBUS). So this
module counts in memory, and `monitoring.exposition` hands the numbers to the library.
"""

import threading
from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

from authsite.platform.runtime import clock

# Durations are rounded to multiples of 1/2^20 s (about 1 µs), so that their sums are exact.
# Otherwise a sum over several processes would depend on the order of the processes. It could shrink
# by a rounding error, and Prometheus would take that for a restart of the process.
_UNITS = 2**20

Labels = tuple[object, ...]
Kind = Literal["counter", "histogram", "time"]
Values = dict[str, list[tuple[tuple[str, ...], list[float]]]]
"""For each metric, by name: pairs of label values and the numbers that are counted under them."""

# Upper bounds of the buckets, in seconds: from a guarded request (1 ms) to a login that waits for
# its hash.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metric:
    """A metric: numbers for each combination of label values. ``text`` describes it."""

    kind: Kind

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        self.name, self.text, self.labels = name, text, tuple(labels)
        self._numbers: dict[Labels, list[float]] = {}
        self._lock = threading.Lock()
        METRICS[name] = self

    def values(self) -> list[tuple[tuple[str, ...], list[float]]]:
        """A copy of all numbers, each with its label values."""
        with self._lock:
            return [
                (tuple(map(str, labels)), numbers.copy())
                for labels, numbers in self._numbers.items()
            ]


class Counter(Metric):
    """A number that only grows."""

    kind = "counter"

    def add(self, *labels: object) -> None:
        """Add one to the number for these label values."""
        with self._lock:
            numbers = self._numbers.get(labels)
            if numbers is None:
                self._numbers[labels] = [1]
            else:
                numbers[0] += 1


class Histogram(Metric):
    """Durations: their sum in seconds, then the number of durations in each bucket."""

    kind = "histogram"

    def observe(self, seconds: float, *labels: object) -> None:
        """Count one duration of ``seconds``."""
        with self._lock:
            numbers = self._numbers.get(labels)
            if numbers is None:
                numbers = self._numbers[labels] = [0.0] * (len(BOUNDS) + 2)
            numbers[0] += round(seconds * _UNITS) / _UNITS
            numbers[bisect_left(BOUNDS, seconds) + 1] += 1


class LatestTime(Metric):
    """Two times in seconds since 1970: the last success (0 if there was none), and the start.

    The start is when a process began to wait for the first success. Without it an alert could not
    tell a task that never succeeds from a task that does not run.
    """

    kind = "time"

    def begin(self, *labels: object) -> None:
        """Record that the wait for the first success starts now."""
        with self._lock:
            self._numbers[labels] = [0.0, clock.now().timestamp()]

    def note(self, *labels: object) -> None:
        """Record a success now."""
        now = clock.now().timestamp()
        with self._lock:
            self._numbers[labels] = [now, self._numbers.get(labels, (0.0, now))[1]]


METRICS: dict[str, Metric] = {}

REQUESTS = Histogram(
    "authsite_request_seconds",
    "Time from receiving the whole request to its response; includes waiting for a thread.",
    ("route", "method", "status"),
)
GUARDED = Counter(
    "authsite_guard_decisions",
    "Requests that a guard has accepted or rejected; the outcome names the reason.",
    ("guard", "outcome"),
)
STANDBY_READS = Counter(
    "authsite_standby_reads",
    "Reads of guards and introspection on standbys; after any outcome but answered the primary is"
    " asked.",
    ("outcome",),
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
    "authsite_hashes_rejected",
    "Password hashes that were rejected because all threads were busy.",
)
RATE_LIMITED = Counter(
    "authsite_rate_limited", "Attempts over a rate limit, by the name of the limit.", ("limit",)
)
WRITE_FAILURES = Counter(
    "authsite_write_failures",
    "Statements that the database could not write, such as on a full disk.",
)
MAILS = Counter(
    "authsite_mails",
    "What became of mails: sent, expired, dead (given up), or waiting for another try.",
    ("outcome",),
)
TASK_SUCCESS = LatestTime(
    "authsite_task_last_success_timestamp_seconds",
    "When a background task last succeeded; before its first success, when it started.",
    ("task",),
)


def counted() -> Values:
    """The numbers of all metrics of this process."""
    return {name: metric.values() for name, metric in METRICS.items()}


def add_up(parts: Sequence[Values]) -> Values:
    """Combine the numbers of several processes: the sums of counters and histograms.

    Of a `LatestTime` the result has the latest success and the earliest start: the start of another
    process is not a success.
    """
    found: dict[str, dict[tuple[str, ...], list[float]]] = {name: {} for name in METRICS}
    for part in parts:
        for name, metric in METRICS.items():
            totals = found[name]
            for labels, numbers in part.get(name, ()):
                key = tuple(labels)
                before = totals.get(key)
                if before is None:
                    totals[key] = list(numbers)
                elif metric.kind == "time":
                    totals[key] = [max(before[0], numbers[0]), min(before[1], numbers[1])]
                else:
                    totals[key] = [
                        float(one) + other for one, other in zip(before, numbers, strict=True)
                    ]
    return {name: list(totals.items()) for name, totals in found.items()}
