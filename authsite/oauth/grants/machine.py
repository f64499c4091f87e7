"""The client credentials grant: a client acts for itself (RFC 6749, section 4.4)."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from authsite.oauth import resources, scopes
from authsite.oauth.clients.authentication import AuthenticatedClient
from authsite.oauth.errors import (
    REFRESH_TOKEN,
    InvalidGrant,
    InvalidScope,
    InvalidTarget,
    TokenText,
)
from authsite.oauth.oidc.errors import SigningUnavailable
from authsite.oauth.tokens.format import TokenPair
from authsite.oauth.tokens.issue import issue_for_client
from authsite.oauth.tokens.refresh import refresh
from authsite.platform.context import Context

from .grant import GrantBody, grant


class ClientCredentialsGrant(GrantBody):
    description = "A client acts for itself and for no user (RFC 6749, section 4.4)."
    examples: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "a machine acts for itself": {"grant_type": "client_credentials"},
    }

    grant_type: Literal["client_credentials"]
    """`client_credentials`."""


@grant(
    "client_credentials",
    body=ClientCredentialsGrant,
    errors=(InvalidScope, InvalidTarget, SigningUnavailable),
)
def by_client_credentials(
    ctx: Context, client: AuthenticatedClient, body: ClientCredentialsGrant
) -> TokenPair:
    """Raises `InvalidScope` and `InvalidTarget`.

    A refresh token comes with it, though section 4.4.3 advises against one.
    """
    allowed, default = map(scopes.without_openid, (client.scope, client.default_scope))
    scope = scopes.choose(body.scope, allowed, default)
    resource = resources.choose(ctx, body.resource, client.default_resource)
    allowed_there = resources.scope_for(resource, scope)
    return issue_for_client(ctx, client, allowed_there, resource=resource)


# The refresh token grant: the next token pair of a login (RFC 6749, section 6).


class RefreshTokenGrant(GrantBody):
    description = "The tokens of a login are renewed (RFC 6749, section 6)."
    needs = ("refresh_token",)
    examples: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "the tokens are renewed": {"grant_type": "refresh_token", "refresh_token": REFRESH_TOKEN},
    }

    grant_type: Literal["refresh_token"]
    """`refresh_token`."""
    refresh_token: TokenText = ""
    """Grant `refresh_token`: the newest refresh token of this login."""


@grant(
    "refresh_token",
    body=RefreshTokenGrant,
    errors=(InvalidGrant, InvalidScope, InvalidTarget, SigningUnavailable),
)
def by_refresh_token(
    ctx: Context, client: AuthenticatedClient, body: RefreshTokenGrant
) -> TokenPair:
    """Raises as `refresh`."""
    return refresh(ctx, client.id, body.refresh_token, body.scope, body.resource)
