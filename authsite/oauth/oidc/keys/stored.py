"""The rows of signing keys."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from sqlalchemy import Connection, String, Table, Text, delete, func, insert, select, update
from sqlalchemy.orm import Mapped, mapped_column

from authsite.oauth.models import Client
from authsite.platform.context import Context
from authsite.platform.crypto.sealing import Binding
from authsite.platform.db import Database, PreparedQuery
from authsite.platform.db.base import Base
from authsite.platform.db.batches import Batch, sweep_table
from authsite.platform.db.sealed import SealedText
from authsite.platform.settings import Settings

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, RSAKey


# Key pairs that sign ID tokens, as JSON Web Keys (RFC 7517).


ALGORITHMS = ("RS256", "ES256")  # names of RFC 7518, section 3.1; each has its own chain of keys
RSA_BITS = 2048


class Pair(NamedTuple):
    """A new key pair. ``kid``: the thumbprint of RFC 7638. ``public`` and ``private``: JWKs."""

    kid: str
    alg: str
    public: str
    private: bytes


def new_pair(alg: str) -> Pair:
    """A key pair for one of `ALGORITHMS`; a pair for RS256 takes about 0.1 s."""
    key = _new_key(alg)
    kid = key.thumbprint()
    while kid.startswith("-"):  # a command line would take it for an option
        key = _new_key(alg)
        kid = key.thumbprint()
    about = {"kid": kid, "use": "sig", "alg": alg}
    public = {**key.as_dict(private=False), **about}
    private = {**key.as_dict(private=True), **about}
    return Pair(kid, alg, json.dumps(public), json.dumps(private).encode())


def _new_key(alg: str) -> "RSAKey | ECKey":
    from joserfc.jwk import ECKey, RSAKey

    return RSAKey.generate_key(RSA_BITS) if alg == "RS256" else ECKey.generate_key("P-256")


def read_key(jwk: str | bytes) -> "RSAKey | ECKey":
    """The key in the text of a JWK that `new_pair` has made. Raises `ValueError`."""
    from joserfc.errors import JoseError
    from joserfc.jwk import import_key

    try:
        return cast("RSAKey | ECKey", import_key(json.loads(jwk)))
    except JoseError as error:
        raise ValueError("not a key") from error


# The table of signing keys.


class SigningKey(Base):
    """A key pair that signs ID tokens.

    ``kid``: the thumbprint of RFC 7638. ``alg``: RS256 or ES256. ``public``: the JWK (RFC 7517).
    ``private``: the sealed private JWK; NULL once the key signs no more. A key is published as the
    next one from ``created_at`` on, signs from ``current_at`` to ``previous_at``, and is kept after
    that for tokens that it has signed.
    """

    __tablename__ = "signing_keys"

    kid: Mapped[str] = mapped_column(String(43), primary_key=True)
    alg: Mapped[str] = mapped_column(String(8))
    public: Mapped[str] = mapped_column(Text)
    private: Mapped[str | None] = mapped_column(SealedText("signing-key"))
    created_at: Mapped[datetime]
    current_at: Mapped[datetime | None]
    previous_at: Mapped[datetime | None]


KIND = "signing-key"
AFTER_TOKENS = timedelta(hours=24)  # that a key is still published after its last token expired
KNOWN_FOR = timedelta(days=365)  # that the public part is kept for `id_token_hint`
State = Literal["next", "current", "previous"]
_TABLE = cast(Table, SigningKey.__table__)


class StoredKey(NamedTuple):
    """The row of a signing key; see `SigningKey`."""

    kid: str
    alg: str
    public: str
    private: str | None
    created_at: datetime
    current_at: datetime | None
    previous_at: datetime | None

    @property
    def state(self) -> State:
        """``next``: it will sign. ``current``: it signs. ``previous``: it has signed."""
        if self.previous_at:
            return "previous"
        return "current" if self.current_at else "next"

    def is_published(self, now: datetime, longest: timedelta) -> bool:
        """Whether clients are told the key; ``longest``: the longest lifetime of an ID token."""
        return self.previous_at is None or now < self.previous_at + longest + AFTER_TOKENS

    def is_known(self, now: datetime) -> bool:
        """Whether an expired token with this signature is still known as ours."""
        return self.previous_at is None or now < self.previous_at + KNOWN_FOR


class _Longest(NamedTuple):
    seconds: int | None


_ALL = PreparedQuery(
    select(*(_TABLE.c[name] for name in StoredKey._fields)).order_by(
        _TABLE.c.created_at, _TABLE.c.kid
    ),
    StoredKey,
)
_LONGEST = PreparedQuery(select(func.max(Client.id_token_lifetime).label("seconds")), _Longest)


def binding_of(kid: str) -> Binding:
    """What the private part of a key is bound to."""
    return Binding(KIND, kid)


def all_keys(database: Database) -> list[StoredKey]:
    """All keys, the oldest first. Raises SQLAlchemy's errors."""
    return _ALL.all(database)


def keys_in_transaction(ctx: Context) -> list[StoredKey]:
    """`all_keys`, as the transaction of ``ctx`` sees them."""
    columns = [_TABLE.c[name] for name in StoredKey._fields]
    rows = ctx.db.execute(select(*columns).order_by(_TABLE.c.created_at, _TABLE.c.kid))
    return [StoredKey(*row) for row in rows]


def longest_lifetime(database: Database, settings: Settings) -> timedelta:
    """The longest lifetime of an ID token: of the setting, or of a client."""
    row = _LONGEST.one(database)
    seconds = (row.seconds if row else None) or 0
    return max(settings.id_token_expires_in, timedelta(seconds=seconds))


def add(ctx: Context, pair: Pair, now: datetime, *, current: bool = False) -> None:
    """Store a new pair, which will sign, or signs at once if it is ``current``."""
    ctx.db.execute(
        insert(_TABLE),
        {
            "kid": pair.kid,
            "alg": pair.alg,
            "public": pair.public,
            "private": ctx.services.sealing.seal(pair.private, binding_of(pair.kid)),
            "created_at": now,
            "current_at": now if current else None,
        },
    )


def make_current(ctx: Context, kid: str, now: datetime) -> None:
    """Let the next key sign from now on."""
    ctx.db.execute(update(_TABLE).where(_TABLE.c.kid == kid).values(current_at=now))


def make_previous(ctx: Context, kid: str, now: datetime) -> None:
    """Let the key sign no more; what it has signed remains valid."""
    ctx.db.execute(update(_TABLE).where(_TABLE.c.kid == kid).values(previous_at=now, private=None))


def delete_key(ctx: Context, kid: str) -> None:
    """Delete the key: what it has signed is valid no more."""
    ctx.db.execute(delete(_TABLE).where(_TABLE.c.kid == kid))


# Delete signing keys a year after they have signed.


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete the keys that have not signed for a year: no token of theirs is known any more."""
    return sweep_table(connection, SigningKey, SigningKey.previous_at <= now - KNOWN_FOR)
