"""Registration: from a stranger to a user."""

from functools import partial
from typing import TYPE_CHECKING

from authsite.platform.http.api_metadata import Tag

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pyramid.config import Configurator
    from sqlalchemy import Connection

    from authsite.platform.context import Services
    from authsite.platform.db.batches import Batch
    from authsite.platform.settings import Settings

API_TAG = Tag("Registration", "Register a user.", place=10)


def includeme(config: "Configurator") -> None:
    """Routes of the endpoint and the page, none with `registration` off; the cleanup."""
    services = config.registry["authsite"]
    when = "registered, never confirmed or used, older than purge-unconfirmed"
    config.add_cleanup("unconfirmed", "Unconfirmed accounts", partial(_purge, services), when=when)
    if not services.settings.registration_open:
        return
    config.add_route("authsite.register", "/v1/register", errors="json")
    config.add_route("authsite.register.page", "/register")
    config.add_route("authsite.register.check", "/register/check")
    config.add_route("authsite.register.code", "/register/code")
    config.scan(".api")
    config.scan(".pages")


def _purge(
    services: "Services", connection: "Connection", now: "datetime", _cfg: "Settings"
) -> "Iterator[Batch]":
    from .service import purge

    return purge(services, connection, now)
