"""OAuth clients: create, authenticate, rotate the secret, disable."""

import hmac
import secrets
import uuid
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from authsite.audit.service import record
from authsite.db import Database
from authsite.http.source import Source

from .errors import InvalidClient
from .models import CLIENT_TYPES, Client


class KnownClient(NamedTuple):
    """A client whose secret was right, as plain values."""

    id: uuid.UUID
    name: str
    type: str
    scope: str
    default_scope: str
    epoch: int


_COLUMNS = tuple(getattr(Client, name) for name in KnownClient._fields)
_BY_ID = select(*_COLUMNS, Client.secret_hash, Client.previous_secret_hash).where(
    Client.id == bindparam("client_id"), Client.disabled_at.is_(None)
)
_NOBODYS_ID = uuid.UUID(int=0)
_NOBODY = sha256(secrets.token_bytes(32)).hexdigest()


def new_secret() -> str:
    """256 random bits, base64url."""
    return secrets.token_urlsafe(32)


def hash_secret(secret: str) -> str:
    """SHA-256 in hex: enough for a secret that has 256 random bits."""
    return sha256(secret.encode(errors="surrogatepass")).hexdigest()


def authenticate(database: Database, client_id: str | None, secret: str | None) -> KnownClient:
    """The enabled client with this id and secret (RFC 6749, section 2.3.1).

    Raises `InvalidClient` for everything else, after the same work.
    """
    row = database.points.read(_BY_ID, {"client_id": _as_id(client_id)})
    given = hash_secret(secret or "")
    hashes = [known or _NOBODY for known in row[-2:]] if row else [_NOBODY] * 2
    # Both are compared, whatever the first says, and on bytes.
    matches = [hmac.compare_digest(known.encode(), given.encode()) for known in hashes]
    if row is None or not secret or not any(matches):
        raise InvalidClient
    return KnownClient(*row[:-2])


def create(
    db: Session,
    now: datetime,
    source: Source,
    name: str,
    type: str,
    scope: str = "",
    default_scope: str = "",
) -> tuple[Client, str]:
    """A new client and its secret, which is not stored and cannot be shown again.

    Raises ValueError for an unknown type, or a default scope outside ``scope``.
    """
    if type not in CLIENT_TYPES:
        raise ValueError(f"the type must be one of {', '.join(CLIENT_TYPES)}")
    if not set(default_scope.split()) <= set(scope.split()):
        raise ValueError("the default scope must be part of the scope")
    secret = new_secret()
    client = Client(
        id=uuid.uuid4(),
        name=name,
        type=type,
        secret_hash=hash_secret(secret),
        scope=" ".join(scope.split()),
        default_scope=" ".join(default_scope.split()),
        epoch=0,
        created_at=now,
        updated_at=now,
    )
    db.add(client)
    record(db, now, source, "client.created", client_id=client.id)
    return client, secret


def rotate_secret(db: Session, now: datetime, source: Source, client: Client) -> str:
    """A new secret; the one before works on until the next rotation or `retire_secret`."""
    secret = new_secret()
    client.previous_secret_hash, client.secret_hash = client.secret_hash, hash_secret(secret)
    client.updated_at = now
    record(db, now, source, "client.secret_rotated", client_id=client.id)
    return secret


def retire_secret(db: Session, now: datetime, source: Source, client: Client) -> None:
    """End the older of two living secrets."""
    client.previous_secret_hash = None
    client.updated_at = now
    record(db, now, source, "client.secret_retired", client_id=client.id)


def disable(db: Session, now: datetime, source: Source, client_id: uuid.UUID) -> None:
    """Refuse the client from now on, and end everything that was issued to it."""
    db.execute(
        update(Client)
        .where(Client.id == client_id)
        .values(disabled_at=now, updated_at=now, epoch=Client.epoch + 1)
    )
    record(db, now, source, "client.disabled", client_id=client_id)


def listing(db: Session) -> Sequence[Client]:
    """All clients, oldest first."""
    return db.scalars(select(Client).order_by(Client.created_at)).all()


def _as_id(text: str | None) -> uuid.UUID:
    """``text`` as an id; an id that nobody has for anything that is none.

    Only the canonical spelling counts: what is limited per client id must not have two names.
    """
    try:
        found = uuid.UUID(text) if text and len(text) == 36 else _NOBODYS_ID
    except ValueError:
        return _NOBODYS_ID
    return found if str(found) == text else _NOBODYS_ID
