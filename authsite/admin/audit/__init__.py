"""The audit trail for administrators: list, export, explain, the state of the seals."""

from typing import TYPE_CHECKING

from authsite.admin.routes import add_routes

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The routes."""
    add_routes(
        config,
        api={
            "events": "/events",
            "events.export": "/events/export",
            "events.explain": "/events/explain/{request_id}",
            "seals": "/seals",
        },
    )
