"""Clients: the API and the pages."""

from typing import TYPE_CHECKING

from authsite.admin.navigation import add_routes

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The routes."""
    one = "/clients/{id}"
    add_routes(
        config,
        api={
            "clients": "/clients",
            "clients.client": one,
            "clients.rotate_secret": f"{one}/rotate-secret",
            "clients.retire_secret": f"{one}/retire-secret",
            "clients.disable": f"{one}/disable",
            "clients.enable": f"{one}/enable",
        },
        pages={
            "clients": "/clients",
            "clients.new": "/clients/new",
            "clients.client": one,
            "clients.change": f"{one}/change",
            "clients.rotate_secret": f"{one}/rotate-secret",
            "clients.retire_secret": f"{one}/retire-secret",
            "clients.disable": f"{one}/disable",
            "clients.enable": f"{one}/enable",
        },
    )
