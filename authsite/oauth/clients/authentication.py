"""Client authentication: HTTP Basic or parameters of the body, not both (RFC 6749, 2.3.1).

A public client has no secret, and sends its ``client_id`` alone (`identify`; section 3.2.1).
"""

import binascii
import hmac
import secrets
import uuid
from base64 import b64decode
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Literal, NamedTuple, Protocol, TypeVar
from urllib.parse import unquote_plus

import structlog
from sqlalchemy import bindparam, select, update
from sqlalchemy.exc import SQLAlchemyError

from authsite.oauth.errors import InvalidClient, TwoClientAuthentications
from authsite.oauth.models import DOCUMENT, PUBLIC_TYPES, Client, may_use
from authsite.oauth.reasons import ClientReason
from authsite.platform.context import Context
from authsite.platform.db import Database, PreparedQuery
from authsite.platform.db.prepared import columns_of
from authsite.platform.passwords import Passwords
from authsite.platform.runtime.ids import as_client_id

from . import document_urls
from .registered import DOCUMENT_CLIENT

# The header ``Authorization: Basic`` of a client (RFC 6749, section 2.3.1).


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


# The secrets of clients, as hashes.
#
# A secret has enough random bits for SHA-256, which every request of the client computes. Secrets
# that were imported as bcrypt hashes, as Laravel Passport stores them, are checked in the hash
# pool, and replaced by our own form at the first use.


log = structlog.get_logger("authsite.oauth")

_UNKNOWN_HASH = sha256(secrets.token_bytes(32)).hexdigest()


class HasSecrets(Protocol):
    """A row of an enabled client with the hashes of its secrets, whatever else was read with it."""

    @property
    def id(self) -> uuid.UUID: ...
    @property
    def secret_hash(self) -> str: ...
    @property
    def previous_secret_hash(self) -> str | None: ...


def hash_secret(secret: str) -> str:
    """SHA-256 in hex, which is enough for a secret that has 256 random bits."""
    return sha256(secret.encode(errors="surrogatepass")).hexdigest()


def scheme_of(stored: str) -> Literal["sha256", "bcrypt"]:
    """The form of the stored hash of a secret: our own, or the bcrypt hash of another system."""
    return "bcrypt" if stored.startswith("$2") else "sha256"


def has_secret(found: HasSecrets | None, secret: str | None) -> bool:
    """Whether ``secret`` is one of the client's, by its SHA-256.

    The same work for every client, known or not.
    """
    sent = hash_secret(secret or "")
    stored = (found.secret_hash, found.previous_secret_hash) if found else (None, None)
    # In a list, not a generator: both are compared in any case, so that timing reveals nothing.
    matches = [
        hmac.compare_digest((each or _UNKNOWN_HASH).encode(), sent.encode()) for each in stored
    ]
    return bool(secret) and any(matches)


def check_imported(
    database: Database,
    passwords: Passwords,
    client: HasSecrets,
    secret: str,
    upgrade: bool,
) -> bool:
    """Whether ``secret`` is one that ``client`` has as a bcrypt hash.

    If so, and with ``upgrade``, the hash is replaced by one of the same secret, which is not an
    event of the audit trail. Other clients cost nothing. Raises `HashCapacityExceeded`.
    """
    for column, stored in (
        (Client.secret_hash, client.secret_hash),
        (Client.previous_secret_hash, client.previous_secret_hash),
    ):
        if stored and scheme_of(stored) == "bcrypt" and passwords.check(secret, stored):
            if not upgrade:
                return True
            try:
                with database.transactional.begin() as connection:
                    connection.execute(
                        update(Client)
                        .where(Client.id == client.id, column == stored)
                        .values({column: hash_secret(secret)})
                    )
            except SQLAlchemyError as error:
                log.warning(
                    "client_secret_upgrade_failed",
                    client=str(client.id),
                    error=type(error).__name__,
                )
            return True
    return False


METHODS = ("client_secret_basic", "client_secret_post")  # names of RFC 7591, section 2
_UNKNOWN_ID = uuid.UUID(int=0)


class AuthenticatedClient(NamedTuple):
    """A client whose secret was right, as plain values."""

    id: uuid.UUID
    name: str
    type: str
    scope: str
    default_scope: str
    epoch: int
    grant_types: str | None
    """As stored; None for those of the type."""
    require_group: str | None
    """See `oauth.client_groups`."""
    default_resource: str | None
    """The URI of the resource that its tokens are for; None for none."""

    def may_use(self, grant_type: str) -> bool:
        """Whether it may use this grant (RFC 7591, section 2)."""
        return may_use(self.type, self.grant_types, grant_type)


class EnabledClient(NamedTuple):
    """An enabled client whose secret is not checked yet, with the hashes of its secrets."""

    secret_hash: str
    previous_secret_hash: str | None
    client: AuthenticatedClient

    @property
    def id(self) -> uuid.UUID:
        """The id of the client."""
        return self.client.id

    @property
    def public(self) -> bool:
        """See `is_public`."""
        return is_public(self.client.type, self.secret_hash)


def is_public(client_type: str, secret_hash: str) -> bool:
    """Whether a client has no secret, and its id is enough (RFC 6749, section 2.1)."""
    return client_type in PUBLIC_TYPES and not secret_hash


class ClientCredentials(NamedTuple):
    """What a request has to authenticate its client with."""

    authorization: str
    """The Authorization header."""
    client_id: str | None
    client_secret: str | None
    """The two parameters of the body."""


class HasClient(HasSecrets, Protocol):
    """Also with all that the token endpoint has to know about the client."""

    @property
    def client(self) -> AuthenticatedClient: ...
    @property
    def public(self) -> bool: ...


Found = TypeVar("Found", bound=HasSecrets)
FoundClient = TypeVar("FoundClient", bound=HasClient)

ENABLED_CLIENT = PreparedQuery(
    select(*columns_of(Client, EnabledClient), *columns_of(Client, AuthenticatedClient)).where(
        Client.id == bindparam("client_id"), Client.disabled_at.is_(None)
    ),
    EnabledClient,
)


def authenticate_request(
    ctx: Context, credentials: ClientCredentials, find: Callable[..., Found | None]
) -> Found:
    """The client that authenticated by the Authorization header or by the two parameters.

    ``find`` returns the enabled client with the id ``client_id``, or None.
    Raises `InvalidClient` (with ``WWW-Authenticate: Basic`` for a request with Basic),
    `TwoClientAuthentications`, `TooManyAttempts`, and `HashCapacityExceeded` for a secret that was
    imported as a bcrypt hash.
    """
    try:
        client_id, secret = _sent(credentials)
        return _authenticate_limited(ctx, find(client_id=client_id), secret)
    except InvalidClient as error:
        if is_basic(credentials.authorization):
            error.headers["WWW-Authenticate"] = 'Basic realm="authsite"'
        raise


def find_authenticated(
    credentials: ClientCredentials, find: Callable[..., Found | None]
) -> Found | None:
    """The client of `authenticate_request` if its secret is right by its SHA-256; nothing counts.

    None for whatever `authenticate_request` has to decide: ``find`` may show what is out of date.
    """
    try:
        client_id, secret = _sent(credentials)
    except (InvalidClient, TwoClientAuthentications):
        return None
    found = find(client_id=client_id)
    return found if has_secret(found, secret) else None


def _sent(credentials: ClientCredentials) -> tuple[uuid.UUID, str | None]:
    """The id and the secret that were sent. Raises `InvalidClient`, `TwoClientAuthentications`."""
    authorization, client_id, client_secret = credentials
    if not is_basic(authorization):
        return _sent_id(client_id), client_secret
    basic_id, basic_secret = decode(authorization)
    if client_secret or client_id not in (None, "", basic_id):
        raise TwoClientAuthentications
    return _sent_id(basic_id), basic_secret


def enabled(ctx: Context) -> Callable[..., EnabledClient | None]:
    """What `identify` finds a client with, where nothing else is read."""
    return partial(ENABLED_CLIENT.one, ctx.database)


def identify(
    ctx: Context, credentials: ClientCredentials, find: Callable[..., FoundClient | None]
) -> FoundClient:
    """The client that authenticated, or the public client that sent its ``client_id`` alone.

    A public client that sends a secret is refused, too. Parameter ``find`` and the errors that it
    raises are those of `authenticate_request`.
    """
    if is_basic(credentials.authorization) or credentials.client_secret:
        return authenticate_request(ctx, credentials, find)
    sent = credentials.client_id or ""
    if document_urls.usable(ctx.settings, sent):  # its row is read; nothing is fetched here
        document = DOCUMENT_CLIENT.one(ctx.database, url=sent)
        found = find(client_id=document.id if document else _UNKNOWN_ID)
    else:
        found = find(client_id=_sent_id(sent))
    if found and found.public and (found.client.type == DOCUMENT) == document_urls.is_url(sent):
        return found
    return _authenticate_limited(ctx, found, None)


def authenticate(
    database: Database,
    passwords: Passwords,
    client_id: str | None,
    secret: str | None,
    upgrade: bool = True,
) -> AuthenticatedClient:
    """The enabled client with this id and secret, without a limit.

    ``upgrade``: whether an imported hash of the secret is replaced; without it, nothing is written.
    Raises `InvalidClient`, after the same work in every case but for a secret that was imported as
    a bcrypt hash, and for that `HashCapacityExceeded`.
    """
    found = ENABLED_CLIENT.one(database, client_id=_sent_id(client_id))
    if has_secret(found, secret) and found:
        return found.client
    return _require_imported(database, passwords, found, secret, upgrade).client


def _authenticate_limited(ctx: Context, found: Found | None, secret: str | None) -> Found:
    # Before the count: who shares an address with others, such as a resource server behind the same
    # gateway, is not locked out by their failures. A comparison costs nothing; a secret that is
    # imported as a bcrypt hash is checked within the limit, until its first use replaces the hash.
    if has_secret(found, secret) and found:
        return found
    # One count for all unknown ids of an address, so that new ids do not evade the limit.
    limited_id = str(found.id) if found else ""
    try:
        with ctx.limits.failures("client-auth", limited_id, ctx.limits.address):
            return _require_imported(ctx.database, ctx.passwords, found, secret)
    except InvalidClient as error:
        error.client_id = found.id if found else None
        raise


def _sent_id(client_id: str | None) -> uuid.UUID:
    # No other spelling is an id, though the limits count under the id of the client that is found.
    # The query runs for any other text, too, so that all answers take the same time.
    return as_client_id(client_id or "") or _UNKNOWN_ID


def _require_imported(
    database: Database,
    passwords: Passwords,
    found: Found | None,
    secret: str | None,
    upgrade: bool = True,
) -> Found:
    """``found`` if this is a secret that it has as a bcrypt hash; raises `InvalidClient` otherwise.

    For what is not its secret by `_has_secret`.
    """
    if found is None:
        raise InvalidClient(ClientReason.UNKNOWN)
    if not found.secret_hash:  # by HTTP Basic some libraries send an empty password
        raise InvalidClient(ClientReason.PUBLIC if secret else ClientReason.PUBLIC_BASIC)
    if not secret:
        raise InvalidClient(ClientReason.SECRET_MISSING)
    if not check_imported(database, passwords, found, secret, upgrade):
        raise InvalidClient(ClientReason.SECRET_WRONG)
    return found
