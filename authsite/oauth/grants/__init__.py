"""The grants. One file is one grant; a new one is a file and a line in the table."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from authsite.context import Context

from ..client_auth import AuthenticatedClient
from ..errors import UnauthorizedClient, UnsupportedGrantType
from ..token_request import TokenRequest
from ..tokens import TokenPair
from . import client_credentials, password, refresh_token


class Grant(NamedTuple):
    """A grant: the types of client that may use it, and the function that issues the tokens."""

    client_types: tuple[str, ...]
    issue: Callable[[Context, AuthenticatedClient, TokenRequest], TokenPair]


GRANTS: Mapping[str, Grant] = {
    "password": Grant(password.CLIENT_TYPES, password.grant),
    "client_credentials": Grant(client_credentials.CLIENT_TYPES, client_credentials.grant),
    "refresh_token": Grant(refresh_token.CLIENT_TYPES, refresh_token.grant),
}


def find(grant_type: str) -> Grant:
    """The grant of this type; raises `UnsupportedGrantType`."""
    if grant_type not in GRANTS:
        raise UnsupportedGrantType
    return GRANTS[grant_type]


def execute(
    ctx: Context, grant: Grant, client: AuthenticatedClient, request: TokenRequest
) -> TokenPair:
    """The token pair that ``client`` gets by ``grant``.

    Raises `UnauthorizedClient`, and what the grant raises.
    """
    if client.type not in grant.client_types:
        raise UnauthorizedClient
    return grant.issue(ctx, client, request)
