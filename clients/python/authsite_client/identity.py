"""Whom an access token belongs to, as introspection tells it (RFC 7662, section 2.2)."""

from dataclasses import asdict, dataclass
from typing import ClassVar, Protocol, Self

from . import clock
from .errors import (
    ClientRequired,
    EmailNotVerified,
    InsufficientScope,
    Unavailable,
    UserRequired,
    VerificationError,
)
from .numbers import is_seconds


class Resource(Protocol):
    """The part of a `ProtectedResource` that a verifier needs."""

    def check(self, identity: "Identity") -> None:
        """Raises `InvalidToken` unless the token is for this resource."""


class TokenVerifier(Protocol):
    """The part of a `Verifier` that `still_active` and `still_active_async` need."""

    def verify(self, token: str, *, resource: Resource | None = None) -> "Identity":
        """The identity of an active token; raises what `Verifier.verify` raises."""

    async def verify_async(self, token: str, *, resource: Resource | None = None) -> "Identity":
        """`verify`, without blocking the event loop."""


@dataclass(frozen=True)
class Identity:
    """An active access token.

    ``sub`` is the id of the user, or of the client if the token acts for no user (``owner`` is
    ``"user"`` or ``"client"``): store this one. ``username`` is the user's e-mail address if it is
    confirmed, else None. ``email`` is the address in any case: anyone can register with an address
    of another person, so it tells who the user is only if ``email_verified``. ``exp`` is in seconds
    since 1970. ``audience``: the resources that the token is for (RFC 8707); empty for none.
    ``third_party``: it was issued to an application that is not one of authsite's operator, and
    means no more than its scopes say.
    """

    sub: str | None
    username: str | None
    scope: tuple[str, ...]
    client_id: str | None
    owner: str | None
    exp: int | None
    email: str | None = None
    email_verified: bool = False
    audience: tuple[str, ...] = ()
    third_party: bool = False

    # The verifier, the token that `still_active` asks about, and the resource that it has to be
    # for. No field, so that the token is in no representation, comparison or `asdict`.
    _source: ClassVar[tuple[TokenVerifier, str, Resource | None] | None] = None

    def has_scope(self, scope: str) -> bool:
        """Whether the token has all of these scopes, which are separated by spaces."""
        return all(each in self.scope for each in scope.split())

    def require(self, scope: str) -> None:
        """Raises `InsufficientScope` unless the token has all of these scopes."""
        if not self.has_scope(scope):
            raise InsufficientScope(scope)

    def require_user(self) -> str:
        """The id of the user. Raises `UserRequired` for a token that acts for a client."""
        if self.owner != "user" or self.sub is None:
            raise UserRequired
        return self.sub

    def require_client(self) -> str:
        """The id of the client. Raises `ClientRequired` for a token that acts for a user."""
        if self.owner != "client" or self.sub is None:
            raise ClientRequired
        return self.sub

    def require_verified(self) -> None:
        """Raises `EmailNotVerified` for a user whose address is not confirmed.

        The token of a client passes, since a client has no address.
        """
        if not self.email_verified and self.owner != "client":
            raise EmailNotVerified

    def still_active(self) -> bool:
        """Whether the token is active now, for connections that last longer than a request.

        Asks authsite at most once in the ``cache`` seconds of the verifier. Raises `Unavailable` if
        authsite cannot be asked, and RuntimeError for an identity that no verifier returned.
        """
        verifier, token, resource = self._asked()
        try:
            verifier.verify(token, resource=resource)
        except Unavailable:
            raise
        except VerificationError:
            return False
        return True

    async def still_active_async(self) -> bool:
        """Like `still_active`, without blocking the event loop."""
        verifier, token, resource = self._asked()
        try:
            await verifier.verify_async(token, resource=resource)
        except Unavailable:
            raise
        except VerificationError:
            return False
        return True

    def of_token(
        self, verifier: TokenVerifier, token: str, resource: Resource | None = None
    ) -> Self:
        """A copy that can ask ``verifier`` whether ``token`` is `still_active`."""
        made = object.__new__(type(self))
        facts = self.__dict__.copy()
        facts["_source"] = (verifier, token, resource)
        object.__setattr__(made, "__dict__", facts)  # for each request, so not field by field
        return made

    def __getstate__(self) -> dict[str, object]:
        """For `pickle` and `copy`: the fields, without the token."""
        return asdict(self)

    def _asked(self) -> tuple[TokenVerifier, str, Resource | None]:
        if self._source is None:
            raise RuntimeError("only an identity that a verifier returned knows its token")
        return self._source


def read_identity(claims: object) -> Identity | None:
    """The identity in an introspection response; None for a token that is not active.

    A refresh token can be active, too, and opens nothing: its type is not Bearer. Neither does a
    token beyond its expiry, whatever the response says. An address of which the response does not
    say that it is confirmed is not. Raises ValueError for anything else.
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
    verified = _flag(claims, "email_verified")
    username = _text(claims, "username")
    identity = Identity(
        sub=_text(claims, "sub"),
        username=username if verified else None,
        scope=tuple((_text(claims, "scope") or "").split()),
        client_id=_text(claims, "client_id"),
        owner=_text(claims, "owner"),
        exp=exp,
        email=_text(claims, "email"),
        email_verified=verified,
        audience=_audience(claims),
        third_party=_flag(claims, "third_party"),
    )
    return None if exp is not None and exp <= clock.time() else identity


def _audience(claims: dict[str, object]) -> tuple[str, ...]:
    """One text or a list of texts (RFC 7662, section 2.2)."""
    value = claims.get("aud", [])
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise ValueError("aud is no text and no list of texts")
    return tuple(given)


def _flag(claims: dict[str, object], name: str) -> bool:
    value = claims.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is not true or false")
    return value


def _text(claims: dict[str, object], name: str) -> str | None:
    value = claims.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    return value
