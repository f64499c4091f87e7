"""The client credentials grant: a machine acts for itself (RFC 6749, section 4.4).

A refresh token comes with it, as the specification of this service wants.
"""

from .. import families, scopes
from ..clients import KnownClient
from ..desk import Desk, TokenRequest
from ..families import Owner, TokenPair

CLIENT_TYPES = ("personal",)


def grant(desk: Desk, client: KnownClient, asked: TokenRequest) -> TokenPair:
    """Tokens that act for the client and for no user. Raises `InvalidScope`."""
    scope = scopes.granted(asked.scope, client.scope, client.default_scope)
    owner = Owner(client.id, client.epoch)
    return families.issue(desk, owner, scope)
