"""The audit trail for administrators: list, export, explain, the state of the seals."""

from typing import TYPE_CHECKING

from authsite.admin.navigation import add_routes
from authsite.platform.runtime.cached import Cached

from .service import CACHED, STATES, state_of_seals

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The routes, and the state of the seals that the page shows for a minute."""
    services = config.registry["authsite"]
    STATES.add(config, Cached(lambda: state_of_seals(services), CACHED.total_seconds()), "seals")
    add_routes(
        config,
        api={
            "events": "/events",
            "events.export": "/events/export",
            "events.explain": "/events/explain/{request_id}",
            "seals": "/seals",
        },
        pages={
            "audit": "/audit",
            "audit.csv": "/audit.csv",
            "audit.explain": "/audit/explain/{request_id}",
        },
    )
