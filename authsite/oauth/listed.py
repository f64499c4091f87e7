"""Personal access tokens as lists show them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from authsite.platform.context import Context
from authsite.platform.runtime import clock

from .active_personal_tokens import ACTIVE_PERSONAL_TOKENS
from .models import PersonalToken


@dataclass(frozen=True, slots=True)
class ListedToken:
    """An active personal access token; ``session_id``: of the session in which it was created."""

    id: UUID
    name: str
    scope: str
    created: datetime
    expires: datetime
    session_id: UUID
    used_at: datetime | None = None

    @property
    def last_used(self) -> datetime | None:
        """When it was last used, to the hour; None before the first use."""
        # The hour of the first use may have begun before the token was created.
        return self.used_at and max(self.used_at, self.created)


def list_personal(ctx: Context, user_id: UUID) -> list[ListedToken]:
    """The active personal access tokens of a user, the newest first."""
    rows = ctx.db.scalars(
        ACTIVE_PERSONAL_TOKENS.with_only_columns(PersonalToken).where(
            PersonalToken.user_id == user_id, PersonalToken.expires_at > clock.now()
        )
    )
    found = [
        ListedToken(
            row.id,
            row.name,
            row.scope,
            row.created_at,
            row.expires_at,
            row.session_id,
            row.used_at,
        )
        for row in rows
    ]
    return sorted(found, key=lambda each: (-each.created.timestamp(), each.id))  # they are few
