"""The client credentials grant: a client acts for itself (RFC 6749, section 4.4).

A refresh token comes with it, though section 4.4.3 advises against one.
"""

from authsite.context import Context

from .. import scopes
from ..client_auth import AuthenticatedClient
from ..issue import Owner, issue
from ..token_request import TokenRequest
from ..tokens import TokenPair

CLIENT_TYPES = ("personal",)


def grant(ctx: Context, client: AuthenticatedClient, request: TokenRequest) -> TokenPair:
    """Tokens that act for the client and for no user. Raises `InvalidScope`."""
    scope = scopes.choose(request.scope, client.scope, client.default_scope)
    return issue(ctx, Owner(client.id, client.epoch), scope)
