"""Whom an access token belongs to, as introspection tells it (RFC 7662, section 2.2)."""

from dataclasses import dataclass

from .errors import InsufficientScope


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
        """Whether the token has all of these scopes, which are separated by blanks."""
        return all(each in self.scope for each in scope.split())

    def require(self, scope: str) -> None:
        """Raises `InsufficientScope` unless the token has all of these scopes."""
        if not self.has_scope(scope):
            raise InsufficientScope(scope)


def read_identity(claims: object) -> Identity | None:
    """The identity in an introspection response; None for a token that is not active.

    A refresh token can be active, too, and opens nothing: its type is not Bearer. Raises ValueError
    for anything else.
    """
    if not isinstance(claims, dict) or not isinstance(claims.get("active"), bool):
        raise ValueError("the response says nothing about a token")
    if not claims["active"]:
        return None
    if str(claims.get("token_type")).lower() != "bearer":
        return None
    exp = claims.get("exp")
    if exp is not None and type(exp) is not int:
        raise ValueError("exp is not a whole number")
    return Identity(
        sub=_text(claims, "sub"),
        username=_text(claims, "username"),
        scope=tuple((_text(claims, "scope") or "").split()),
        client_id=_text(claims, "client_id"),
        owner=_text(claims, "owner"),
        exp=exp,
    )


def _text(claims: dict[str, object], name: str) -> str | None:
    value = claims.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    return value
