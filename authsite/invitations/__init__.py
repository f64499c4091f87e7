"""Invitations: a mailed link that registers its recipient, also where registration is closed."""

from typing import TYPE_CHECKING

from . import service as mails
from .service import purge
from .user_data import USER_DATA

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The table with its cleanup, the mail, and the pages; no pages with `registration` off."""
    config.add_user_data(*USER_DATA)
    config.add_cleanup("invitations", "Invitations", purge, when="ended seven days ago")
    for name, builder in mails.BUILDERS.items():
        config.add_mail_builder(name, builder)
    if not config.registry["authsite"].settings.invitations_open:
        return
    config.add_route("authsite.invitation.page", "/invitation")
    config.add_route("authsite.invitation.check", "/invitation/check")
    config.add_route("authsite.invitation.link", "/invitation/{token}")  # after the one above
    config.scan(".pages")
