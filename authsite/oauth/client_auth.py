"""Client credentials out of a token request: HTTP Basic or body, not both (RFC 6749, 2.3.1)."""

import binascii
from base64 import b64decode
from typing import Any
from urllib.parse import unquote_plus

from .clients import KnownClient, authenticate
from .errors import InvalidClient, TwoClientAuthentications

MAX_LENGTH = 1024


def client_of(request: Any) -> KnownClient:
    """The client that authenticated this request.

    Raises `InvalidClient` (with ``WWW-Authenticate: Basic`` when Basic was tried),
    `TwoClientAuthentications` and `TooManyAttempts`.
    """
    given = request.given
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return _authenticate(request, given.client_id, given.client_secret)
    try:
        client_id, secret = _basic(value)
        if given.client_secret or given.client_id not in (None, "", client_id):
            raise TwoClientAuthentications
        return _authenticate(request, client_id, secret)
    except InvalidClient as error:
        error.headers["WWW-Authenticate"] = 'Basic realm="authsite"'
        raise


def _authenticate(request: Any, client_id: str | None, secret: str | None) -> KnownClient:
    attempts = request.attempts
    with attempts.failures("client-auth", client_id or "", attempts.address):
        return authenticate(request.database, client_id, secret)


def _basic(value: str) -> tuple[str, str]:
    if len(value) > 4 * MAX_LENGTH:
        raise InvalidClient
    try:
        client_id, colon, secret = b64decode(value.strip(), validate=True).decode().partition(":")
        if not colon:
            raise InvalidClient
        return unquote_plus(client_id, errors="strict"), unquote_plus(secret, errors="strict")
    except (binascii.Error, ValueError):
        raise InvalidClient from None
