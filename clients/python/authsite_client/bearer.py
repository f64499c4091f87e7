"""The Authorization header of a request (RFC 6750, section 2.1)."""

import re

from .errors import InvalidToken, MissingToken

MAX_TOKEN_LENGTH = 4096
# authsite introspects refresh tokens (rt_), too (RFC 7662); in a request they are not credentials.
_ACCESS_TOKEN = r"(?!rt_)[A-Za-z0-9\-._~+/]+=*"
_TOKEN = re.compile(_ACCESS_TOKEN)
_CREDENTIALS = re.compile(rf"[Bb][Ee][Aa][Rr][Ee][Rr] ++({_ACCESS_TOKEN})")


def read_bearer(authorization: str | None) -> str:
    """The token of an Authorization header, as `check_token` accepts it.

    Raises `MissingToken` without a header or for another scheme, and `InvalidToken`.
    """
    if not authorization:
        raise MissingToken
    found = _CREDENTIALS.fullmatch(authorization)
    if found and len(found[1]) <= MAX_TOKEN_LENGTH:
        return found[1]
    raise InvalidToken if has_bearer(authorization) else MissingToken


def has_bearer(authorization: str | None) -> bool:
    """Whether an Authorization header has the scheme Bearer, with or without a token."""
    return authorization is not None and authorization[:6].lower() == "bearer"


def check_token(token: str) -> str:
    """``token``, if it can be an access token. Raises `InvalidToken`, without asking authsite.

    A header that occurs twice is not a token either: servers join the values by a comma.
    """
    if len(token) > MAX_TOKEN_LENGTH or not _TOKEN.fullmatch(token):
        raise InvalidToken
    return token
