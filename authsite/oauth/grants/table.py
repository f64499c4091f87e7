"""The grants of the token endpoint (RFC 6749). A new one is a module here and a line in `GRANTS`.

The types of client that have it as a preset are in `oauth.models`.
"""

from collections.abc import Mapping
from typing import Any

from authsite.oauth.clients.authentication import AuthenticatedClient, FoundClient
from authsite.oauth.errors import MissingParameter, UnauthorizedClient, UnsupportedGrantType
from authsite.oauth.models import DEVICE_GRANT, PASSKEY_GRANT
from authsite.oauth.oidc.availability import is_on
from authsite.oauth.tokens.format import TokenPair
from authsite.platform.context import Context, Services
from authsite.platform.settings.rules import relying_party

from .codes import by_authorization_code, by_device_code
from .grant import Grant, GrantBody
from .machine import by_client_credentials, by_refresh_token
from .sign_in import by_mfa, by_passkey, by_password

GRANTS: Mapping[str, Grant[Any, Any]] = {
    each.name: each
    for each in (
        by_password,
        by_client_credentials,
        by_refresh_token,
        by_authorization_code,
        by_device_code,
        by_mfa,
        by_passkey,
    )
}


OPENID_GRANTS = (by_authorization_code.name, DEVICE_GRANT)


def available(services: Services) -> list[str]:
    """The names of the grants that the settings allow."""
    off = set() if is_on(services) else set(OPENID_GRANTS)
    if relying_party(services.settings) is None:
        off.add(PASSKEY_GRANT)
    return [name for name in GRANTS if name not in off]


def find(ctx: Context, grant_type: str) -> Grant[Any, Any]:
    """The grant of this type; raises `UnsupportedGrantType`."""
    if grant_type not in GRANTS:
        raise UnsupportedGrantType(available(ctx.services))
    return GRANTS[grant_type]


def check_allowed(client: AuthenticatedClient, grant: Grant[Any, Any]) -> None:
    """Raise `UnauthorizedClient` unless ``client`` may use ``grant``."""
    if not client.may_use(grant.name):
        raise UnauthorizedClient


def execute(
    ctx: Context, grant: Grant[Any, FoundClient], found: FoundClient, body: GrantBody
) -> TokenPair:
    """The token pair that the client in ``found`` gets by ``grant``, which has found it.

    Raises `UnauthorizedClient`, `MissingParameter`, and what the grant raises.
    """
    check_allowed(found.client, grant)
    for name in grant.body.needs:
        if not getattr(body, name):
            raise MissingParameter(grant.body.needs)
    return grant.issue(ctx, found, body)
