"""The identities of the signed-in user: link, confirm with, list and unlink them."""

from typing import TYPE_CHECKING

from authsite.platform.http.api_metadata import Tag
from authsite.users.account_pages import AccountSection

from . import service as mails
from .service import confirm, link, unlink

if TYPE_CHECKING:
    from pyramid.config import Configurator

__all__ = ["confirm", "link", "unlink"]

API_TAG = Tag(
    "Sign-in with other providers",
    "The buttons that an application shows, and the providers that a user is connected with.",
    place=80,
)


def includeme(config: "Configurator") -> None:
    """Routes of the API and of the section's form, the section, and the mails.

    The list of providers is empty where no provider is in the settings, and the section is not
    shown to a user who has no identity either.
    """
    from .pages import values

    for name, builder in mails.BUILDERS.items():
        config.add_mail_builder(name, builder)
    config.add_route("authsite.providers", "/v1/clients/{client}/providers", errors="oauth")
    config.add_route("authsite.user.identities", "/v1/user/identities", guard="api")
    config.add_route("authsite.user.identity", "/v1/user/identities/{id}", guard="api")
    config.add_route(
        "authsite.account.identities.unlink", "/account/identities/{id}/unlink", guard="web"
    )
    config.add_account_section(
        AccountSection(
            "identities",
            "authsite:templates/account/identities.jinja2",
            "account.security",
            values,
            after="password",
        )
    )
    config.scan(".api")
    config.scan(".pages")
