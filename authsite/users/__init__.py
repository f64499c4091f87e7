"""Users: who they are, and their passwords."""

from typing import TYPE_CHECKING

from . import mails

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The mails about users."""
    for name, builder in mails.BUILDERS.items():
        config.add_mail_builder(name, builder)
