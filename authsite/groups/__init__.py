"""What administrators do with groups: create and change them, and decide who is in them."""

from typing import TYPE_CHECKING

from . import mails
from .user_data import USER_DATA

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The tables of groups, and the mails to the owners."""
    config.add_user_data(*USER_DATA)
    for name, builder in mails.BUILDERS.items():
        config.add_mail_builder(name, builder)
