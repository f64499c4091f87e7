"""Personal access tokens: a user creates one for a program, and revokes it at any time."""

from typing import TYPE_CHECKING

from authsite.platform.http.api_metadata import Tag
from authsite.users.account_pages import AccountSection

from .pages import values
from .service import BUILDERS

if TYPE_CHECKING:
    from pyramid.config import Configurator

API_TAG = Tag(
    "Personal access tokens",
    "Tokens that a user creates for own programs. They open the routes of the application, not "
    "the account.",
    place=100,
)


def includeme(config: "Configurator") -> None:
    """Routes of the API and of the section's forms, the section, and the builder of the mail."""
    for name, build in BUILDERS.items():
        config.add_mail_builder(name, build)
    config.add_route("authsite.user.tokens", "/v1/user/tokens", guard="api")
    config.add_route("authsite.user.token", "/v1/user/tokens/{id}", guard="api")
    config.add_route("authsite.account.tokens", "/account/tokens", guard="web")
    config.add_route("authsite.account.tokens.revoke", "/account/tokens/{id}/revoke", guard="web")
    config.add_account_section(
        AccountSection(
            "tokens",
            "authsite:templates/account/tokens.jinja2",
            "account.access",
            values,
            deleted="authsite:templates/account/deleted_tokens.jinja2",
        )
    )
    config.scan(".api")
    config.scan(".pages")
