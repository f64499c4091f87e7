"""A personal access token as lists show it."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ListedToken:
    """An active personal access token.

    ``session_id``: the session in which it was created; None for one of before (`former`).
    """

    id: UUID
    name: str
    scope: str
    created: datetime
    expires: datetime
    used_at: datetime | None = None
    session_id: UUID | None = None

    @property
    def last_used(self) -> datetime | None:
        """When it was last used, to the hour; None before the first use."""
        # The hour of the first use may have begun before the token was created.
        return self.used_at and max(self.used_at, self.created)
