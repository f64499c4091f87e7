"""The refresh token grant, with rotation (RFC 6749, section 6; RFC 9700, section 4.14)."""

from .. import families
from ..clients import KnownClient
from ..desk import Desk, TokenRequest
from ..errors import InvalidGrant, MissingParameter
from ..families import TokenPair
from ..tokens import REFRESH

CLIENT_TYPES = ("password", "personal")


def grant(desk: Desk, client: KnownClient, asked: TokenRequest) -> TokenPair:
    """The successor pair. Raises `InvalidGrant`, `InvalidScope`, and what a login step raises."""
    if not asked.refresh_token:
        raise MissingParameter("refresh_token")
    token = desk.codec.decode(REFRESH, asked.refresh_token, desk.now)
    if token is None:
        raise InvalidGrant
    return families.rotate(desk, token, client.id, asked.scope)
