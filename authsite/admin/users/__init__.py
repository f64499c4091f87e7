"""Users: search, details, and everything that administrators do with an account."""

from functools import partial
from typing import TYPE_CHECKING

from authsite.admin.navigation import add_routes

from . import actions, mails
from .api import API
from .pages import PAGES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pyramid.config import Configurator
    from sqlalchemy import Connection

    from authsite.platform.context import Services
    from authsite.platform.db.batches import Batch
    from authsite.platform.settings import Settings


def includeme(config: "Configurator") -> None:
    """The mails to users, and the end of those who are to be erased."""
    for name, builder in mails.BUILDERS.items():
        config.add_mail_builder(name, builder)
    services = config.registry["authsite"]
    when = "seven days after an administrator deleted them"
    config.add_cleanup("users", "Users", partial(_erase_due, services), when=when)
    add_routes(config, api=API, pages=PAGES)


def _erase_due(
    services: "Services", connection: "Connection", now: "datetime", _cfg: "Settings"
) -> "Iterator[Batch]":
    return actions.erase_due(services, connection, now)
