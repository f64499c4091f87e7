"""A user as plain values, read outside any transaction."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from pydantic import Field
from typing_extensions import TypedDict

from authsite.platform.db.prepared import columns_of
from authsite.platform.http.api_metadata import response_body
from authsite.platform.runtime.clock import rfc3339
from authsite.platform.settings import Settings

from .models import User


class Account(NamedTuple):
    """A user whose credential was checked."""

    id: UUID
    email: str
    username: str | None
    phone: str | None
    name: str | None
    epoch: int
    email_verified_at: datetime | None
    created_at: datetime
    updated_at: datetime
    labels: str | None = None  # the groups, as in the column
    language: str | None = None  # of mails to the user

    @property
    def confirmed(self) -> bool:
        """Whether the user has confirmed the e-mail address."""
        return self.email_verified_at is not None

    def confirmed_at(self, moment: datetime) -> "Account":
        """The account as it is when the address has been confirmed by this ``moment``."""
        return self if self.confirmed else self._replace(email_verified_at=moment)


def under_new_epoch(account: Account, epoch: int) -> Account:
    """The account after its user's epoch was raised in this request."""
    return account._replace(epoch=epoch)


def lacks_confirmation(account: Account | None, settings: Settings) -> bool:
    """Whether the settings require a confirmed e-mail address and this user has none."""
    return settings.confirmation_required and account is not None and not account.confirmed


@dataclass(frozen=True, slots=True)
class SignedInUser:
    """A user, with the session of the request: a token family or a browser session.

    ``proved_by`` and ``auth_at``: how and when the user proved to be who they are.
    """

    account: Account
    family_id: UUID | None = None
    browser_session_id: UUID | None = None
    proved_by: tuple[str, ...] = ()
    auth_at: datetime | None = None

    @property
    def session_id(self) -> UUID | None:
        """The id of the session, of either kind."""
        return self.family_id or self.browser_session_id


_MOMENT = Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-31T09:30:00Z"])


@response_body("A user. Login names that are not enabled are null.")
class UserAnswer(TypedDict):
    id: Annotated[
        str,
        Field(
            json_schema_extra={"format": "uuid"}, examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"]
        ),
    ]
    """Permanent and unique."""
    email: Annotated[
        str, Field(json_schema_extra={"format": "email"}, examples=["ann@example.com"])
    ]
    """The e-mail address."""
    username: str | None
    """The username."""
    phone: str | None
    """The phone number in the format of E.164."""
    name: Annotated[str | None, Field(examples=["Ann Lee"])]
    """The user's name."""
    confirmed: bool
    """Whether the user has confirmed the e-mail address."""
    email_verified_at: Annotated[str, _MOMENT] | None
    """When the user confirmed the e-mail address."""
    created_at: Annotated[str, _MOMENT]
    """When the user was created."""
    updated_at: Annotated[str, _MOMENT]
    """When the user was last changed."""


ACCOUNT_COLUMNS = columns_of(User, Account)


def account_of(user: User) -> Account:
    """The values of a row that the request's transaction has read or written."""
    return Account(*(getattr(user, name) for name in Account._fields))


def as_json(user: Account | User, enabled: Collection[str]) -> UserAnswer:
    """The user object of the API: all fields of a user that any answer contains.

    ``enabled``: the kinds of login name in setting `login-identifiers`; others are null.
    """
    verified = user.email_verified_at
    return {
        "id": str(user.id),
        "email": user.email,
        "username": user.username if "username" in enabled else None,
        "phone": user.phone if "phone" in enabled else None,
        "name": user.name,
        "confirmed": verified is not None,
        "email_verified_at": rfc3339(verified) if verified else None,
        "created_at": rfc3339(user.created_at),
        "updated_at": rfc3339(user.updated_at),
    }
