"""Users: who they are, and their passwords."""

from typing import TYPE_CHECKING

from . import former, mails

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The mails about users, and the cleanup of former addresses."""
    config.add_cleanup(
        "former_addresses", "Former addresses", former.purge, when="no longer restorable"
    )
    for name, builder in mails.BUILDERS.items():
        config.add_mail_builder(name, builder)
