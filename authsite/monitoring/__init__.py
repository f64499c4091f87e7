"""``/healthz``, ``/readyz`` and ``/metrics``: is the service up, can it work, what has it done."""

import os
from typing import TYPE_CHECKING

from pyramid.tweens import INGRESS

from authsite.platform.tasks.background import NUMBERS

from .database import Monitoring
from .workers import FOLDER_VARIABLE, all_numbers

if TYPE_CHECKING:
    from pyramid.config import Configurator

HEALTH_PATH = "/healthz"


def includeme(config: "Configurator") -> None:
    """Add the routes and views; and the task that shares the numbers of several processes."""
    services = config.registry["authsite"]
    config.registry["authsite.monitoring"] = Monitoring(services.database)
    NUMBERS.add(config, lambda services: all_numbers(services)["counted"], "all processes")
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
                over="authsite.platform.http.tween.http_tween",
            )
    config.add_background_task(
        "metrics",
        "authsite.monitoring.workers.make_job",
        enabled=bool(os.environ.get(FOLDER_VARIABLE)),
    )
