"""The rows of signing keys."""

from datetime import datetime, timedelta
from typing import Literal, NamedTuple, cast

from sqlalchemy import Table, delete, func, insert, select, update

from authsite.oauth.models import Client
from authsite.platform.context import Context
from authsite.platform.crypto.sealing import Binding
from authsite.platform.db import Database, PreparedQuery
from authsite.platform.settings import Settings

from .models import SigningKey
from .pairs import Pair

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
