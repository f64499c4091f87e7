"""Sign in with other providers: whose account it is, linking, and the pages."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """Routes and registrations."""
    config.include(".linking")
