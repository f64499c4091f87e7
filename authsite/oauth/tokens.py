"""Tokens as text, and the pair of tokens of one generation of a family.

A token is a sealed value with the prefix ``at_``, ``rt_`` or, for a personal access token,
``pat_``. It is rebuilt from the family's row and the key and is not stored, so a dump of the
database contains no token. A forged or expired token is rejected without a query.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple
from uuid import UUID

from authsite.context import Context
from authsite.crypto.keys import Keys
from authsite.crypto.sealed import SealedFormat
from authsite.settings import Settings

ACCESS = "at_"
REFRESH = "rt_"
PERSONAL = "pat_"

_FIELDS = "16sI"  # family id, generation
_FORMATS = {kind: SealedFormat(_FIELDS, kind) for kind in (ACCESS, REFRESH, PERSONAL)}
_PURPOSES = {  # each has a key of its own
    ACCESS: "access token",
    REFRESH: "refresh token",
    PERSONAL: "personal access token",
}


class Token(NamedTuple):
    """The values in a token."""

    family_id: UUID
    generation: int
    expires: int  # Unix seconds


class Generation(NamedTuple):
    """The values from which the tokens of one generation of a family are built."""

    family_id: UUID
    number: int
    rotated_at: datetime
    refresh_expires_at: datetime
    scope: str
    created_at: datetime  # of the family


@dataclass(frozen=True, slots=True)
class TokenPair:
    """An access and a refresh token; ``expires_in``: seconds that the access token has left."""

    access_token: str
    refresh_token: str
    expires_in: int
    scope: str


def encode(keys: Keys, kind: str, token: Token) -> str:
    """The text of ``token``; ``kind``: `ACCESS`, `REFRESH` or `PERSONAL`."""
    fields = (token.family_id.bytes, token.generation)
    return _FORMATS[kind].seal(keys[_PURPOSES[kind]], *fields, expires=token.expires)


def decode(keys: Keys, kind: str, text: str, now: datetime) -> Token | None:
    """The token in ``text``, or None if it is forged or has expired."""
    values = _FORMATS[kind].unseal(keys[_PURPOSES[kind]], text, now)
    return Token(UUID(bytes=values[0]), values[1], values[2]) if values else None


def decode_expired(keys: Keys, kind: str, text: str) -> Token | None:
    """As `decode`, also for a token that has expired."""
    values = _FORMATS[kind].unseal_expired(keys[_PURPOSES[kind]], text)
    return Token(UUID(bytes=values[0]), values[1], values[2]) if values else None


def decode_bearer(keys: Keys, text: str, now: datetime) -> Token | None:
    """The access token or personal access token in ``text``; None as in `decode`."""
    return decode(keys, PERSONAL if text.startswith(PERSONAL) else ACCESS, text, now)


def encode_pair(ctx: Context, generation: Generation, now: datetime) -> TokenPair:
    """The tokens of ``generation``; the same text each time."""
    family_id, number, rotated_at, refresh_expires_at, scope, created_at = generation
    access_expires_at = _limited(rotated_at, ctx.settings.expires_in, created_at, ctx.settings)
    keys, fields = ctx.services.keys, (family_id.bytes, number)
    access, refresh = [
        _FORMATS[kind].seal(keys[_PURPOSES[kind]], *fields, expires=int(end.timestamp()))
        for kind, end in ((ACCESS, access_expires_at), (REFRESH, refresh_expires_at))
    ]
    return TokenPair(
        access,
        refresh,
        # When a refresh is repeated within the grace, a short-lived token may have expired.
        max(0, int((access_expires_at - now).total_seconds())),
        scope,
    )


def refresh_expiry(now: datetime, created_at: datetime, cfg: Settings) -> datetime:
    """When a refresh token expires that is issued ``now`` in a family of ``created_at``."""
    return _limited(now, cfg.refresh_expires_in, created_at, cfg)


def family_limit(created_at: datetime, cfg: Settings) -> datetime | None:
    """When all tokens of a family have expired, however often it is refreshed; None for never."""
    return expiry(created_at, cfg.family_lifetime) if cfg.family_lifetime else None


def expiry(now: datetime, lifetime: timedelta) -> datetime:
    """``lifetime`` after ``now``, rounded up to a whole second: the precision of a token."""
    return datetime.fromtimestamp(ceil(now.timestamp()), now.tzinfo) + lifetime


def _limited(now: datetime, lifetime: timedelta, created_at: datetime, cfg: Settings) -> datetime:
    end, limit = expiry(now, lifetime), family_limit(created_at, cfg)
    return min(end, limit) if limit else end
