"""The grants. One file is one grant; a new one is a file and a line in the table."""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import cast

from ..clients import KnownClient
from ..desk import Desk, TokenRequest
from ..errors import UnauthorizedClient, UnsupportedGrantType
from ..families import TokenPair
from . import client_credentials, password, refresh_token

Grant = Callable[[Desk, KnownClient, TokenRequest], TokenPair]

GRANTS: Mapping[str, ModuleType] = {
    "password": password,
    "client_credentials": client_credentials,
    "refresh_token": refresh_token,
}


def grant_named(grant_type: str) -> str:
    """``grant_type`` if there is such a grant; raises `UnsupportedGrantType`."""
    if grant_type not in GRANTS:
        raise UnsupportedGrantType
    return grant_type


def run(grant_type: str, desk: Desk, client: KnownClient, asked: TokenRequest) -> TokenPair:
    """The token pair that ``client`` gets by ``grant_type``.

    Raises `UnsupportedGrantType`, `UnauthorizedClient`, and what the grant raises.
    """
    grant = GRANTS[grant_named(grant_type)]
    if client.type not in grant.CLIENT_TYPES:
        raise UnauthorizedClient
    return cast(Grant, grant.grant)(desk, client, asked)
