"""OAuth 2.0: clients, token families, grants, the token endpoint and logout."""

from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import UUID

from authsite.platform.context import Context
from authsite.platform.db.transaction import READING_PATHS
from authsite.platform.http import cors, cross_site
from authsite.platform.http.api_metadata import Tag
from authsite.platform.request_state import Request
from authsite.sign_in.factors.notices import SIGN_INS
from authsite.sign_in.login_url import add_logout_origins

from . import authorization_reasons, introspection_reasons, reasons
from .clients.uris import Origins
from .logout import AT_LOGOUT
from .models import Family
from .tokens import active_personal
from .tokens.families import purge, purge_personal_tokens
from .user_data import USER_DATA

if TYPE_CHECKING:
    from pyramid.config import Configurator

API_TAG = Tag("OAuth 2.0", "Tokens: issue, introspect and revoke them, and log out.", place=30)


def at_logout(config: "Configurator", function: Callable[[Request], None]) -> None:
    """Directive: call ``function(request)`` at every API logout, to delete a cookie for example."""
    AT_LOGOUT.add(config, function)


def includeme(config: "Configurator") -> None:
    """The routes and ``config.at_logout``."""
    config.add_directive("at_logout", at_logout)
    SIGN_INS.add(config, Family)
    config.add_reasons("authorization", authorization_reasons.Reason)
    config.add_reasons("client", reasons.ClientReason)
    config.add_reasons("introspection", introspection_reasons.TokenStateReason)
    config.add_reasons("token", reasons.TokenReason)
    config.add_reasons("device", reasons.DeviceReason)
    config.at_recovery_by_mail(_end_personal_tokens)
    config.add_user_data(*USER_DATA)
    when = "expired, or revoked a week ago"
    config.add_cleanup("families", "Token families", purge, when=when)
    config.add_cleanup(
        "personal_tokens", "Personal access tokens", purge_personal_tokens, when=when
    )
    READING_PATHS.add(config, "/v1/oauth/introspect")
    config.add_route("authsite.oauth.introspect", "/v1/oauth/introspect", errors="oauth")
    config.add_route("authsite.oauth.token", "/v1/oauth/token", errors="oauth")
    config.add_route("authsite.oauth.revoke", "/v1/oauth/revoke", errors="oauth")
    config.add_route(
        "authsite.logout", "/v1/logout/", guard="api", unconfirmed=True, unenrolled=True
    )
    config.add_route(
        "authsite.logout.bare", "/v1/logout", guard="api", unconfirmed=True, unenrolled=True
    )
    of_clients = Origins().allows
    cross_site.trust(config, of_clients)
    add_logout_origins(config, of_clients)
    cors.open_to(
        config,
        of_clients,
        "authsite.oauth.token",
        "authsite.oauth.revoke",
        "authsite.oauth.userinfo",
        "authsite.oauth.register",
        "authsite.oauth.device",
    )
    config.scan(".api")


def _end_personal_tokens(ctx: Context, user_id: UUID) -> None:
    active_personal.end_all(ctx, user_id, "recovered by mail")
