"""What a middleware requires of a token, beyond that it is active."""

from dataclasses import dataclass
from typing import Literal, get_args

from .errors import ClientRequired, InsufficientScope, UserRequired
from .identity import Identity
from .protected_resource import ProtectedResource

Caller = Literal["user", "client", "any"]


@dataclass(frozen=True)
class Requirements:
    """``caller`` is whom the token may act for, ``scope`` what it must have.

    With ``verified`` a user must have confirmed the e-mail address; a client has none. Where no
    scope is required, the token of an application of a third party does not pass: its user has
    allowed what its scopes say. It passes for a ``resource`` that has no scopes. Raises ValueError
    for another ``caller``.
    """

    scope: str = ""
    verified: bool = False
    caller: Caller = "user"
    resource: ProtectedResource | None = None

    def __post_init__(self) -> None:
        if self.caller not in get_args(Caller):
            raise ValueError(f'caller is "user", "client" or "any", and not {self.caller!r}')

    def check(self, identity: Identity) -> None:
        """Raises `InsufficientScope`, `UserRequired`, `ClientRequired` or `EmailNotVerified`.

        In this order, as authsite's own guard does.
        """
        if self.scope:
            identity.require(self.scope)
        elif identity.third_party and (self.resource is None or self.resource.scopes):
            raise InsufficientScope(self.resource.scopes if self.resource else "")
        if self.caller == "user":
            if identity.owner != "user":
                raise UserRequired
        elif self.caller == "client" and identity.owner != "client":
            raise ClientRequired
        if self.verified:
            identity.require_verified()
