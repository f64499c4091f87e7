"""Tokens as text, and the pair of tokens of one generation of a family.

A token is a sealed value with the prefix ``at_``, ``rt_`` or, for a personal access token,
``pat_``. It is rebuilt from its row and the key and is not stored, so a dump of the database
contains no token. A forged or expired token is rejected without a query, and the text says which
table has the row.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple, TypeAlias
from uuid import UUID

from authsite.platform.context import Context
from authsite.platform.crypto.keys import Keys
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.settings import Settings

ACCESS = "at_"
REFRESH = "rt_"
PERSONAL_TOKEN = "pat_"

_FIELDS = "16sI"  # family id, generation
_FORMATS = {kind: SealedFormat(_FIELDS, kind) for kind in (ACCESS, REFRESH)}
_PURPOSES = {ACCESS: "access token", REFRESH: "refresh token"}  # each has a separate key
_PERSONAL_TOKEN_FORMAT = SealedFormat("16s", PERSONAL_TOKEN)
_PERSONAL_TOKEN_PURPOSE = "personal access token"
_LOOKS = {
    ACCESS: "an access token",
    REFRESH: "a refresh token",
    PERSONAL_TOKEN: "a personal access token",
    "ac_": "an authorization code",
    "dc_": "a device code",
    "mt_": "an mfa_token",
    "eyJ": "a JSON Web Token",
}


class Token(NamedTuple):
    """The values in a token of a family."""

    family_id: UUID
    generation: int
    expires: int  # Unix seconds


class PersonalTokenValues(NamedTuple):
    """The values in a personal access token."""

    id: UUID
    expires: int  # Unix seconds


BearerToken: TypeAlias = Token | PersonalTokenValues
"""What opens a guarded route of the API."""


class Generation(NamedTuple):
    """The values from which the tokens of one generation of a family are built."""

    family_id: UUID
    number: int
    rotated_at: datetime
    refresh_expires_at: datetime
    scope: str
    created_at: datetime  # of the family
    bounded: bool = False  # whether no access token outlives the refresh token


@dataclass(frozen=True, slots=True)
class TokenPair:
    """An access and a refresh token; ``expires_in``: seconds that the access token has left.

    ``id_token``: of an application that signs a user in (OpenID Connect Core 1.0, section 2).
    ``recovery_codes``: those made with a first second factor.
    """

    access_token: str
    refresh_token: str
    expires_in: int
    scope: str
    id_token: str | None = None
    recovery_codes: tuple[str, ...] = ()

    def with_codes(self, recovery_codes: tuple[str, ...]) -> "TokenPair":
        """The pair with the recovery codes that were made at the same login."""
        return replace(self, recovery_codes=recovery_codes)


def encode(keys: Keys, kind: str, token: Token) -> str:
    """The text of ``token``. ``kind``: `ACCESS` or `REFRESH`."""
    fields = (token.family_id.bytes, token.generation)
    return _FORMATS[kind].seal(keys[_PURPOSES[kind]], *fields, expires=token.expires)


def decode(keys: Keys, kind: str, text: str, now: datetime) -> Token | None:
    """The token in ``text``, or None if it is forged or has expired."""
    token = decode_expired(keys, kind, text)
    return token if token and token.expires > now.timestamp() else None


def decode_expired(keys: Keys, kind: str, text: str) -> Token | None:
    """As `decode`, also for a token that has expired."""
    values = _FORMATS[kind].unseal_expired(keys[_PURPOSES[kind]], text)
    if values is None:
        return None
    return Token(UUID(bytes=values[0]), values[1], values[2])


def kind_of(text: str) -> str:
    """What a text that a caller has sent looks like, for operators, who must not see a token."""
    looks = next((name for prefix, name in _LOOKS.items() if text.startswith(prefix)), "no token")
    return f"{looks} by its first letters, {len(text)} characters"


def encode_personal(keys: Keys, token: PersonalTokenValues) -> str:
    """The text of a personal access token."""
    ring = keys[_PERSONAL_TOKEN_PURPOSE]
    return _PERSONAL_TOKEN_FORMAT.seal(ring, token.id.bytes, expires=token.expires)


def decode_personal_expired(keys: Keys, text: str) -> PersonalTokenValues | None:
    """The personal access token in ``text``, also one that has expired; None for a forged one."""
    values = _PERSONAL_TOKEN_FORMAT.unseal_expired(keys[_PERSONAL_TOKEN_PURPOSE], text)
    return PersonalTokenValues(UUID(bytes=values[0]), values[1]) if values else None


def decode_bearer(keys: Keys, text: str, now: datetime) -> BearerToken | None:
    """The access token or personal access token in ``text``; None as in `decode`."""
    if not text.startswith(PERSONAL_TOKEN):
        return decode(keys, ACCESS, text, now)
    found = decode_personal_expired(keys, text)
    return found if found and found.expires > now.timestamp() else None


def encode_pair(ctx: Context, generation: Generation, now: datetime) -> TokenPair:
    """The tokens of ``generation``; the same text each time."""
    family_id, number, rotated_at, refresh_expires_at, scope, created_at, bounded = generation
    access_expires_at = _limited(rotated_at, ctx.settings.expires_in, created_at, ctx.settings)
    if bounded:
        access_expires_at = min(access_expires_at, refresh_expires_at)
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


def refresh_expiry(
    now: datetime, created_at: datetime, cfg: Settings, bound: datetime | None = None
) -> datetime:
    """When a refresh token expires that is issued ``now`` in a family of ``created_at``.

    At ``bound`` at the latest.
    """
    end = _limited(now, cfg.refresh_expires_in, created_at, cfg)
    return min(end, bound) if bound else end


def family_limit(created_at: datetime, cfg: Settings) -> datetime | None:
    """When all tokens of a family have expired, however often it is refreshed; None for never."""
    return expiry(created_at, cfg.family_lifetime) if cfg.family_lifetime else None


def expiry(now: datetime, lifetime: timedelta) -> datetime:
    """``lifetime`` after ``now``, rounded up to a whole second: the precision of a token."""
    return datetime.fromtimestamp(ceil(now.timestamp()), now.tzinfo) + lifetime


def _limited(now: datetime, lifetime: timedelta, created_at: datetime, cfg: Settings) -> datetime:
    end, limit = expiry(now, lifetime), family_limit(created_at, cfg)
    return min(end, limit) if limit else end
