"""Secrets of clients that were imported as bcrypt hashes, as Laravel Passport stores them.

They are checked in the hash pool, and replaced by our own form at the first use: a secret has
enough random bits for SHA-256, which every request of the client computes.
"""

from hashlib import sha256
from typing import Literal, Protocol
from uuid import UUID

import structlog
from sqlalchemy import update
from sqlalchemy.exc import SQLAlchemyError

from authsite.db import Database
from authsite.passwords import Passwords

from .models import Client

log = structlog.get_logger("authsite.oauth")


class HasSecrets(Protocol):
    """A row with the id of a client and the hashes of its secrets."""

    @property
    def id(self) -> UUID: ...
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


def check(
    database: Database, passwords: Passwords, client: HasSecrets, secret: str, upgrade: bool
) -> bool:
    """Whether ``secret`` is one that ``client`` has as a bcrypt hash.

    If so, and with ``upgrade``, the hash is replaced by one of the same secret, which is no event
    of the audit trail. Other clients cost nothing. Raises `HashCapacityExceeded`.
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
