"""The numbers in the text format of Prometheus, through collectors of prometheus-client.

The library is imported by the first scrape, so that other processes do not load it.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import accumulate
from typing import get_args

from prometheus_client import generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from authsite.platform.mail.outbox import State
from authsite.platform.runtime.counters import (
    BOUNDS,
    LOGINS,
    MAILS,
    METRICS,
    RATE_LIMITED,
    REQUESTS,
)
from authsite.platform.settings.rate_limits import RATE_LIMITS

from .database import OutboxNumbers
from .gauges import GAUGES
from .workers import Numbers

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PROBES = ("authsite.healthz", "authsite.readyz", "authsite.metrics")
# Prometheus sees no growth between no number and the first one: without these zeros the first mail
# that is given up would raise no alert, and the first minute of an outage would have no 5xx.
_CLASSES = ("2xx", "3xx", "4xx", "5xx")
_SHOWN_FROM_THE_START = {
    LOGINS.name: [("succeeded",), ("failed",)],
    MAILS.name: [(state,) for state in get_args(State)],
    RATE_LIMITED.name: [(limit,) for limit in RATE_LIMITS],
}


class _Families(Collector):
    """Hands the library the families of metrics that were made for one scrape."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def exposition(
    numbers: Numbers, outbox: OutboxNumbers | None, clock_offset: timedelta | None
) -> bytes:
    """The response to a scrape; what the database says is None while it does not answer."""
    families = [
        _responses(numbers),
        *_counted(numbers),
        *_gauges(numbers),
        *_of_database(outbox),
        *_clock(clock_offset),
    ]
    text: bytes = generate_latest(_Families(families))
    return text


def _responses(numbers: Numbers) -> Metric:
    found = dict.fromkeys(_CLASSES, 0.0)
    for (route, _method, status), (_seconds, *buckets) in numbers["counted"].get(REQUESTS.name, ()):
        if route not in _PROBES:
            name = f"{status[0]}xx"
            found[name] = found.get(name, 0.0) + sum(buckets)
    family = CounterMetricFamily(
        "authsite_responses",
        "Responses by the class of their status, such as 5xx; without probes and scrapes.",
        labels=("status",),
    )
    for status, number in found.items():
        family.add_metric((status,), number)
    return family


def _counted(numbers: Numbers) -> Iterator[Metric]:
    for name, metric in METRICS.items():
        found = numbers["counted"].get(name, [])
        if metric.kind == "histogram":
            histogram = HistogramMetricFamily(name, metric.text, labels=metric.labels)
            for labels, (seconds, *buckets) in found:
                bounds = [*map(str, BOUNDS), "+Inf"]
                counts = list(zip(bounds, accumulate(buckets), strict=True))
                histogram.add_metric(labels, counts, seconds)
            yield histogram
            continue
        kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
        family = kind(name, metric.text, labels=metric.labels)
        zeros = _SHOWN_FROM_THE_START.get(name, [] if metric.labels else [()])
        for labels, number in {
            **dict.fromkeys(zeros, 0.0),
            **{k: _value(n) for k, n in found},
        }.items():
            family.add_metric(labels, number)
        yield family


def _value(numbers: list[float]) -> float:
    """The number of a counter; of a time the last one, or since when it is awaited."""
    return next(filter(None, numbers), 0.0)


def _gauges(numbers: Numbers) -> Iterator[Metric]:
    families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
    for key, gauge in GAUGES.items():
        if key not in numbers["gauges"]:
            continue
        name, value = gauge.label or ("", "")
        kind = CounterMetricFamily if gauge.counts_up else GaugeMetricFamily
        labels = [name] if name else []
        family = families.setdefault(gauge.name, kind(gauge.name, gauge.text, labels=labels))
        family.add_metric([value] if name else [], numbers["gauges"][key])
    yield from families.values()


def _of_database(outbox: OutboxNumbers | None) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "authsite_database_up", "Whether the database answers.", value=outbox is not None
    )
    if outbox is None:
        return
    yield GaugeMetricFamily(
        "authsite_outbox_waiting", "Mails that are not sent yet.", value=outbox.mails
    )
    yield GaugeMetricFamily(
        "authsite_outbox_oldest_seconds",
        "Age of the oldest mail that is not sent yet; 0 without one.",
        value=outbox.oldest_seconds,
    )
    yield GaugeMetricFamily(
        "authsite_outbox_due_seconds",
        "For how long the sender should have tried a mail already; 0 without one.",
        value=outbox.due_seconds,
    )


def _clock(offset: timedelta | None) -> Iterator[Metric]:
    if offset is not None:
        yield GaugeMetricFamily(
            "authsite_clock_offset_seconds",
            "How far the clock of this machine is ahead of the database's; negative: behind.",
            value=offset.total_seconds(),
        )
