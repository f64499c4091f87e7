"""Users: who they are, and their passwords."""

from typing import TYPE_CHECKING

from . import former, mails
from .account_pages import add_account_page, add_account_section
from .user_data import USER_DATA, at_recovery, at_recovery_by_mail

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """Four directives of the configurator, the tables, two cleanups, and the mails about users."""
    config.add_directive("add_account_page", add_account_page)
    config.add_directive("add_account_section", add_account_section)
    config.add_directive("at_recovery", at_recovery)
    config.add_directive("at_recovery_by_mail", at_recovery_by_mail)
    config.add_user_data(*USER_DATA)
    config.add_cleanup(
        "former_addresses", "Former addresses", former.purge, when="no longer restorable"
    )
    config.add_cleanup(
        "released_usernames",
        "Usernames given up",
        former.purge_released,
        when="free for anyone again",
    )
    for name, builder in mails.BUILDERS.items():
        config.add_mail_builder(name, builder)
