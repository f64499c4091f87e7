"""What administrators do with groups: create and change them, and decide who is in them."""

from typing import TYPE_CHECKING

from . import mails

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The mails to the owners."""
    for name, builder in mails.BUILDERS.items():
        config.add_mail_builder(name, builder)
