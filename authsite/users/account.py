"""A user as plain values, read by Core apart from any transaction."""

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from authsite.clock import rfc3339

from .models import User


class Account(NamedTuple):
    """What the service knows of a user whose credential was checked."""

    id: UUID
    email: str
    username: str | None
    phone: str | None
    name: str | None
    epoch: int
    email_verified_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def confirmed(self) -> bool:
        """Whether the user has proved to own the e-mail address."""
        return self.email_verified_at is not None


COLUMNS = tuple(getattr(User, name) for name in Account._fields)


def as_json(user: Account | User) -> dict[str, Any]:
    """The user object of the API; nothing else of a user is ever shown."""
    verified = user.email_verified_at
    return {
        "id": str(user.id),
        "email": user.email,
        "username": user.username,
        "phone": user.phone,
        "name": user.name,
        "confirmed": verified is not None,
        "email_verified_at": rfc3339(verified) if verified else None,
        "created_at": rfc3339(user.created_at),
        "updated_at": rfc3339(user.updated_at),
    }
