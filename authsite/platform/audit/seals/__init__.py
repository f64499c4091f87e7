"""Seals of the audit trail: they show that an event was changed, deleted or added later."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The background task that seals."""
    config.add_background_task(
        "audit-sealing",
        "authsite.platform.audit.seals.sealing.make_job",
        enabled=config.registry["authsite"].settings.janitor,
    )
