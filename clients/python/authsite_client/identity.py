"""Whom an access token belongs to, as introspection tells it (RFC 7662, section 2.2)."""

from dataclasses import dataclass

from . import clock
from .errors import InsufficientScope
from .numbers import is_seconds


@dataclass(frozen=True, slots=True)
class Identity:
    """An active access token.

    ``sub`` is the id of the user, or of the client if the token acts for no user (``owner`` is
    ``"user"`` or ``"client"``). ``exp`` is in seconds since 1970.
    """

    sub: str | None
    username: str | None
    scope: tuple[str, ...]
    client_id: str | None
    owner: str | None
    exp: int | None

    def has_scope(self, scope: str) -> bool:
        """Whether the token has all of these scopes, which are separated by spaces."""
        return all(each in self.scope for each in scope.split())

    def require(self, scope: str) -> None:
        """Raises `InsufficientScope` unless the token has all of these scopes."""
        if not self.has_scope(scope):
            raise InsufficientScope(scope)


def read_identity(claims: object) -> Identity | None:
    """The identity in an introspection response; None for a token that is not active.

    A refresh token can be active, too, and opens nothing: its type is not Bearer. Neither does a
    token beyond its expiry, whatever the response says. Raises ValueError for anything else.
    """
    if not isinstance(claims, dict) or not isinstance(claims.get("active"), bool):
        raise ValueError("the response says nothing about a token")
    if not claims["active"]:
        return None
    if str(claims.get("token_type")).lower() != "bearer":
        return None
    exp = claims.get("exp")
    if exp is not None and not is_seconds(exp):
        raise ValueError("exp is not a time")
    identity = Identity(
        sub=_text(claims, "sub"),
        username=_text(claims, "username"),
        scope=tuple((_text(claims, "scope") or "").split()),
        client_id=_text(claims, "client_id"),
        owner=_text(claims, "owner"),
        exp=exp,
    )
    return None if exp is not None and exp <= clock.time() else identity


def _text(claims: dict[str, object], name: str) -> str | None:
    value = claims.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    return value
