"""A user as plain values, read by Core apart from any transaction."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from pydantic import Field
from typing_extensions import TypedDict

from authsite.clock import rfc3339
from authsite.http.answers import exact

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


_MOMENT = Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-31T09:30:00Z"])


@exact
class UserAnswer(TypedDict):
    """A user. A login name that is not enabled is null."""

    id: Annotated[
        str,
        Field(
            json_schema_extra={"format": "uuid"}, examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"]
        ),
    ]
    """Never changes, and is never given to another user."""
    email: Annotated[
        str, Field(json_schema_extra={"format": "email"}, examples=["ann@example.com"])
    ]
    """The e-mail address."""
    username: str | None
    """The username."""
    phone: str | None
    """The phone number, as E.164 writes it."""
    name: Annotated[str | None, Field(examples=["Ann Lee"])]
    """What the user is called."""
    confirmed: bool
    """Whether the user has proved to own the e-mail address."""
    email_verified_at: Annotated[str, _MOMENT] | None
    """When that was."""
    created_at: Annotated[str, _MOMENT]
    """When the user was made."""
    updated_at: Annotated[str, _MOMENT]
    """When anything of the user changed last."""


COLUMNS = tuple(getattr(User, name) for name in Account._fields)


def as_json(user: Account | User) -> UserAnswer:
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
