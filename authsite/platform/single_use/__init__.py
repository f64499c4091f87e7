"""Sealed values that may be used once: the digest of each one that was used, until it expires."""

from typing import TYPE_CHECKING

from .service import purge

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The cleanup."""
    config.add_cleanup("used_ids", "Used sealed values", purge, when="expired")
