"""Who is calling, as the guard found it: a small value apart from the ORM."""

from dataclasses import dataclass
from uuid import UUID

from authsite.users.account import Account

from .errors import UserRequired


@dataclass(frozen=True, slots=True)
class Caller:
    """The credential behind a request; ``user`` is None for a client that acts for itself."""

    guard: str
    user: Account | None
    scope: frozenset[str]
    family_id: UUID | None = None
    client_id: UUID | None = None
    client_name: str | None = None
    session_id: UUID | None = None

    def acting_user(self) -> Account:
        """The user this request acts for; raises `UserRequired` if it acts for none."""
        if self.user is None:
            raise UserRequired
        return self.user
