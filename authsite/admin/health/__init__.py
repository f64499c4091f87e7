"""The health of the service for administrators: checks, tasks, queues, versions."""

from typing import TYPE_CHECKING

from authsite.admin.navigation import add_routes
from authsite.platform.runtime.cached import Cached

from .service import CACHED, HEALTH, examine

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The routes, and what they show for a minute."""
    services, ini = config.registry["authsite"], config.registry.settings
    standalone = config.registry["authsite.http"].standalone
    HEALTH.add(
        config,
        Cached(lambda: examine(services, ini, standalone=standalone), CACHED.total_seconds()),
        "health",
    )
    add_routes(config, api={"health": "/health"}, pages={"health": "/health"})
