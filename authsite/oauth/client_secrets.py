"""The secrets of clients, as hashes.

A secret has enough random bits for SHA-256, which every request of the client computes. Secrets
that were imported as bcrypt hashes, as Laravel Passport stores them, are checked in the hash pool,
and replaced by our own form at the first use.
"""

import hmac
import secrets
import uuid
from hashlib import sha256
from typing import Literal, Protocol

import structlog
from sqlalchemy import update
from sqlalchemy.exc import SQLAlchemyError

from authsite.platform.db import Database
from authsite.platform.passwords import Passwords

from .models import Client

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
