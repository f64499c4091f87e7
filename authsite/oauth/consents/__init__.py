"""Consents: what a user has allowed an application to do."""

from typing import TYPE_CHECKING

from authsite.platform.http.api_metadata import Tag
from authsite.users.account_pages import AccountSection

from .pages import values
from .service import withdraw_recent

if TYPE_CHECKING:
    from pyramid.config import Configurator

API_TAG = Tag(
    "Connected applications",
    "The applications that the user has allowed to sign them in, and what each may do.",
    place=90,
)


def includeme(config: "Configurator") -> None:
    """Routes of the API and of the section's form, the section, and what a recovery takes back."""
    config.at_recovery(withdraw_recent)
    config.add_route("authsite.user.consents", "/v1/user/consents", guard="api")
    config.add_route("authsite.user.consent", "/v1/user/consents/{client_id}", guard="api")
    config.add_route(
        "authsite.account.consents.withdraw", "/account/consents/{client_id}/withdraw", guard="web"
    )
    config.add_route(
        "authsite.account.consents.end", "/account/consents/{client_id}/end", guard="web"
    )
    config.add_account_section(
        AccountSection(
            "consents",
            "authsite:templates/account/consents.jinja2",
            "account.security",
            values,
            deleted="authsite:templates/account/deleted_consents.jinja2",
            after="sessions",
        )
    )
    config.scan(".api")
    config.scan(".pages")
