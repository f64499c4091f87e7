"""The header ``Authorization: Basic`` of a client (RFC 6749, section 2.3.1)."""

import binascii
from base64 import b64decode
from urllib.parse import unquote_plus

from .errors import InvalidClient
from .token_reasons import ClientReason

MAX_LENGTH = 4096


def is_basic(authorization: str) -> bool:
    """Whether this is the header of the scheme Basic, well-formed or not."""
    return authorization.partition(" ")[0].lower() == "basic"


def decode(authorization: str) -> tuple[str, str]:
    """The id and the secret of the client. Raises `InvalidClient`."""
    value = authorization.partition(" ")[2]
    malformed = InvalidClient(ClientReason.BASIC_MALFORMED)
    if len(value) > MAX_LENGTH:
        raise malformed
    try:
        client_id, colon, secret = b64decode(value.strip(), validate=True).decode().partition(":")
        if not colon:
            raise malformed
        return unquote_plus(client_id, errors="strict"), unquote_plus(secret, errors="strict")
    except (binascii.Error, ValueError):
        raise malformed from None
