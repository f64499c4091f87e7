"""Users: who they are, and their passwords."""

from typing import TYPE_CHECKING

from . import former, mails
from .stored import USER_DATA

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The mails about users, the tables, and the cleanup of former addresses."""
    config.add_user_data(*USER_DATA)
    config.add_cleanup(
        "former_addresses", "Former addresses", former.purge, when="no longer restorable"
    )
    for name, builder in mails.BUILDERS.items():
        config.add_mail_builder(name, builder)
