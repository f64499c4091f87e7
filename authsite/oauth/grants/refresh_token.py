"""The refresh token grant: the next token pair of a login (RFC 6749, section 6)."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from authsite.oauth.client_auth import AuthenticatedClient
from authsite.oauth.errors import InvalidGrant, InvalidScope, InvalidTarget
from authsite.oauth.oidc.errors import SigningUnavailable
from authsite.oauth.parameters import REFRESH_TOKEN, TokenText
from authsite.oauth.refresh import refresh
from authsite.oauth.tokens import TokenPair
from authsite.platform.context import Context

from .grant import GrantBody, grant


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
