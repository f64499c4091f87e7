"""The client credentials grant: a client acts for itself (RFC 6749, section 4.4)."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from authsite.oauth import resources, scopes
from authsite.oauth.client_auth import AuthenticatedClient
from authsite.oauth.errors import InvalidScope, InvalidTarget
from authsite.oauth.issue import issue_for_client
from authsite.oauth.oidc.errors import SigningUnavailable
from authsite.oauth.tokens import TokenPair
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
