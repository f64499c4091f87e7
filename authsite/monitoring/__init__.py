"""``/healthz``, ``/readyz`` and ``/metrics``: is the service up, can it work, what has it done."""

import os
from typing import Any

from pyramid.tweens import INGRESS

from .cached import Cached
from .outbox import OutboxNumbers, outbox_numbers
from .readiness import problems
from .workers import FOLDER_VARIABLE

HEALTH_PATH = "/healthz"


class Monitoring:
    """``registry["authsite.monitoring"]``: what was read from the database a moment ago."""

    def __init__(self, services: Any) -> None:
        self.problems: Cached[list[str]] = Cached(lambda: problems(services.database), seconds=1)
        self.outbox: Cached[OutboxNumbers | None] = Cached(
            lambda: outbox_numbers(services.database), seconds=15
        )


def includeme(config: Any) -> None:
    """Add the routes and views; and the task that shares the numbers of several processes."""
    services = config.registry["authsite"]
    config.registry["authsite.monitoring"] = Monitoring(services)
    config.add_route("authsite.healthz", HEALTH_PATH)
    config.add_route("authsite.readyz", "/readyz")
    config.add_route("authsite.metrics", "/metrics")
    config.scan(".api")
    if services.settings.tracing:
        from . import tracing

        tracing.start(services)
        # A host application has its own spans for requests.
        if config.registry["authsite.http"].standalone:
            config.add_tween(
                "authsite.monitoring.tracing.tracing_tween",
                under=INGRESS,
                over="authsite.http.tween.http_tween",
            )
    config.add_background_task(
        "metrics",
        "authsite.monitoring.workers.make_job",
        enabled=bool(os.environ.get(FOLDER_VARIABLE)),
    )
