"""What an installation records about itself in its database, so that a wrong set-up is noticed."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyramid.config import Configurator
    from pyramid.events import ApplicationCreated


def includeme(config: "Configurator") -> None:
    """Let a host application start only if this version can use the database.

    `authsite.main` and `authsite serve` check it themselves. Workers of `serve` do not, so that one
    that is replaced goes on like the others.
    """
    from pyramid.events import ApplicationCreated

    if not config.registry["authsite.http"].standalone:
        config.add_subscriber(_check, ApplicationCreated)


def _check(event: "ApplicationCreated") -> None:
    from .features import refuse_other_versions

    refuse_other_versions(event.app.registry["authsite"].settings)
