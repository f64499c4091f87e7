"""A pair of tokens, as the token endpoint issues it (RFC 6749, section 5.1)."""

from dataclasses import dataclass, field

from . import clock
from .numbers import is_seconds

EARLY = 30.0  # seconds before the expiry; a tenth of the lifetime if that is less


@dataclass(frozen=True, slots=True)
class Tokens:
    """What to store for a login: `dataclasses.asdict` makes a dict, ``Tokens(**that)`` reads it.

    Times are seconds since 1970. ``scope`` is None if it is what was asked for.
    """

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_at: float
    refresh_at: float
    scope: str | None = None


def read_tokens(body: object, asked_at: float) -> Tokens:
    """The pair in a token response to a request of ``asked_at``. Raises ValueError."""
    if not isinstance(body, dict):
        raise ValueError("the response is not an object")
    lifetime, scope = body.get("expires_in"), body.get("scope")
    access, refresh = body.get("access_token"), body.get("refresh_token")
    if not is_seconds(lifetime):
        raise ValueError("expires_in is not a number of seconds")
    if scope is not None and not isinstance(scope, str):
        raise ValueError("scope is not a text")
    if not isinstance(access, str) or not isinstance(refresh, str):
        raise ValueError("the response has no tokens")
    return Tokens(
        access_token=access,
        refresh_token=refresh,
        expires_at=asked_at + lifetime,
        refresh_at=asked_at + lifetime - min(EARLY, lifetime / 10),
        scope=scope,
    )


def read_id_token(body: object) -> str:
    """The ID token in a token response (OpenID Connect Core 1.0, 3.1.3.3). Raises ValueError."""
    found = body.get("id_token") if isinstance(body, dict) else None
    if not isinstance(found, str):
        raise ValueError("the response has no ID token")
    return found


def read_optional_id_token(body: object) -> str | None:
    """The ID token in a token response, or None if it has none."""
    found = body.get("id_token") if isinstance(body, dict) else None
    return found if isinstance(found, str) else None


def expired(tokens: Tokens) -> bool:
    """Whether the access token has expired."""
    return clock.time() >= tokens.expires_at
