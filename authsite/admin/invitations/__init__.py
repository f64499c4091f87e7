"""Invitations, as administrators make and see them."""

from typing import TYPE_CHECKING

from authsite.admin.navigation import add_routes

if TYPE_CHECKING:
    from pyramid.config import Configurator

PATHS = {
    "invitations": "/invitations",
    "invitations.resend": "/invitations/{id}/resend",
}


def includeme(config: "Configurator") -> None:
    """The routes."""
    add_routes(
        config,
        api={**PATHS, "invitations.invitation": "/invitations/{id}"},
        pages={
            **PATHS,
            "invitations.new": "/invitations/new",
            "invitations.revoke": "/invitations/{id}/revoke",
        },
    )
