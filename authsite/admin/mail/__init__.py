"""The outbox for administrators: list, try again, cancel."""

from typing import TYPE_CHECKING

from authsite.admin.navigation import add_routes

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The routes."""
    add_routes(
        config,
        api={
            "mails": "/mails",
            "mails.retry": "/mails/{mail}/retry",
            "mails.cancel": "/mails/{mail}/cancel",
        },
        pages={
            "mail": "/mail",
            "mail.retry": "/mail/{mail}/retry",
            "mail.cancel": "/mail/{mail}/cancel",
        },
    )
