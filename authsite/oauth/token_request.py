"""The parameters of a token request."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """The parameters of a token request that grants read (RFC 6749, section 4)."""

    scope: str | None = None
    username: str | None = None
    password: str | None = None
    refresh_token: str | None = None
    # The kinds of identifier that `username` may be; by default all that are enabled.
    kinds: tuple[str, ...] | None = None
