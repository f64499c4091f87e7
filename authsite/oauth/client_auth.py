"""Client authentication: HTTP Basic or parameters of the body, not both (RFC 6749, 2.3.1)."""

import binascii
import hmac
import secrets
import uuid
from base64 import b64decode
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import unquote_plus

from sqlalchemy import bindparam, select

from authsite.context import Context
from authsite.db import Database, PreparedQuery
from authsite.db.prepared import columns_of
from authsite.ids import as_id

from .errors import InvalidClient, TwoClientAuthentications
from .models import Client

METHODS = ("client_secret_basic", "client_secret_post")  # names of RFC 7591, section 2
MAX_BASIC_LENGTH = 4096
_UNKNOWN_ID = uuid.UUID(int=0)
_UNKNOWN_HASH = sha256(secrets.token_bytes(32)).hexdigest()


class AuthenticatedClient(NamedTuple):
    """A client whose secret was right, as plain values."""

    id: uuid.UUID
    name: str
    type: str
    scope: str
    default_scope: str
    epoch: int


class EnabledClient(NamedTuple):
    """An enabled client whose secret is not checked yet, with the hashes of its secrets."""

    secret_hash: str
    previous_secret_hash: str | None
    client: AuthenticatedClient


ENABLED_CLIENT = PreparedQuery(
    select(*columns_of(Client, EnabledClient), *columns_of(Client, AuthenticatedClient)).where(
        Client.id == bindparam("client_id"), Client.disabled_at.is_(None)
    ),
    EnabledClient,
)


def authenticate_request(
    ctx: Context, authorization: str, client_id: str | None, client_secret: str | None
) -> AuthenticatedClient:
    """The client that authenticated by the Authorization header or by the two parameters.

    Raises `InvalidClient` (with ``WWW-Authenticate: Basic`` for a request with Basic),
    `TwoClientAuthentications` and `TooManyAttempts`.
    """
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() != "basic":
        return _authenticate_limited(ctx, client_id, client_secret)
    try:
        basic_id, basic_secret = _decode_basic(value)
        if client_secret or client_id not in (None, "", basic_id):
            raise TwoClientAuthentications
        return _authenticate_limited(ctx, basic_id, basic_secret)
    except InvalidClient as error:
        error.headers["WWW-Authenticate"] = 'Basic realm="authsite"'
        raise


def authenticate(
    database: Database, client_id: str | None, secret: str | None
) -> AuthenticatedClient:
    """The enabled client with this id and secret, without a limit.

    Raises `InvalidClient`, after the same work in every case.
    """
    return _check_secret(_find_enabled(database, client_id), secret)


def hash_secret(secret: str) -> str:
    """SHA-256 in hex, which is enough for a secret that has 256 random bits."""
    return sha256(secret.encode(errors="surrogatepass")).hexdigest()


def _authenticate_limited(
    ctx: Context, client_id: str | None, secret: str | None
) -> AuthenticatedClient:
    found = _find_enabled(ctx.database, client_id)
    # One count for all unknown ids of an address, so that new ids do not evade the limit.
    limited_id = str(found.client.id) if found else ""
    try:
        with ctx.limits.failures("client-auth", limited_id, ctx.limits.address):
            return _check_secret(found, secret)
    except InvalidClient as error:
        error.client_id = found.client.id if found else None
        raise


def _find_enabled(database: Database, client_id: str | None) -> EnabledClient | None:
    # Only the canonical spelling is an id: a client with two spellings would have two limits.
    # The query runs for any other text, too, so that all answers take the same time.
    return ENABLED_CLIENT.one(database, client_id=as_id(client_id or "") or _UNKNOWN_ID)


def _check_secret(found: EnabledClient | None, secret: str | None) -> AuthenticatedClient:
    """The client if this is one of its secrets; raises `InvalidClient` otherwise."""
    sent = hash_secret(secret or "")
    stored = (found.secret_hash, found.previous_secret_hash) if found else (None, None)
    # In a list, not a generator: both are compared in any case, so that timing reveals nothing.
    matches = [
        hmac.compare_digest((each or _UNKNOWN_HASH).encode(), sent.encode()) for each in stored
    ]
    if found is None or not secret or not any(matches):
        raise InvalidClient
    return found.client


def _decode_basic(value: str) -> tuple[str, str]:
    if len(value) > MAX_BASIC_LENGTH:
        raise InvalidClient
    try:
        client_id, colon, secret = b64decode(value.strip(), validate=True).decode().partition(":")
        if not colon:
            raise InvalidClient
        return unquote_plus(client_id, errors="strict"), unquote_plus(secret, errors="strict")
    except (binascii.Error, ValueError):
        raise InvalidClient from None
