"""The Authorization header of a request (RFC 6750, section 2.1)."""

import re

from .errors import InvalidToken, MissingToken

MAX_TOKEN_LENGTH = 512
_CREDENTIALS = re.compile(r"bearer ++(.*)", re.IGNORECASE | re.DOTALL)
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
# authsite introspects refresh tokens, too (RFC 7662); in a request they are no credentials.
_REFRESH_TOKEN_PREFIX = "rt_"


def read_bearer(authorization: str | None) -> str:
    """The token of an Authorization header, for `check_token`.

    Raises `MissingToken` without a header or for another scheme, and `InvalidToken`.
    """
    if not authorization or authorization[:6].lower() != "bearer":
        raise MissingToken
    found = _CREDENTIALS.fullmatch(authorization)
    if found is None:
        raise InvalidToken
    return check_token(found[1])


def check_token(token: str) -> str:
    """``token``, if it can be an access token. Raises `InvalidToken`, without asking authsite.

    A header that occurs twice is no token either: servers join the values by a comma.
    """
    if (
        len(token) > MAX_TOKEN_LENGTH
        or token.startswith(_REFRESH_TOKEN_PREFIX)
        or not _TOKEN.fullmatch(token)
    ):
        raise InvalidToken
    return token
