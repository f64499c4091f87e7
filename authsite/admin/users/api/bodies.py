"""The bodies of requests and responses about users."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, Field
from typing_extensions import TypedDict

from authsite.admin.bodies import ReasonBody
from authsite.admin.queries import ListQuery
from authsite.admin.users import detail
from authsite.platform.context import Context
from authsite.platform.http.api_metadata import Parameters, response_body
from authsite.platform.http.bodies import Email, MaybeEmpty
from authsite.platform.runtime.clock import rfc3339
from authsite.platform.settings import Settings
from authsite.users.account import UserAnswer
from authsite.users.account import as_json as user_json
from authsite.users.groups import labels
from authsite.users.models import User

_ID = "5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"
_Id = Annotated[str, Field(json_schema_extra={"format": "uuid"}, examples=[_ID])]
_Moment = Annotated[
    str, Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-31T09:30:00Z"])
]


def _in_utc(moment: datetime | None) -> datetime | None:
    try:
        return moment and moment.astimezone(UTC)
    except OverflowError:  # of the years 1 and 9999 in some time zones
        raise ValueError("not a moment in UTC") from None


class UsersQuery(ListQuery):
    """Query of users."""

    q: Annotated[str | None, Field(max_length=320, examples=["ann@"])] = None
    """An id, the beginning of an e-mail address, username or phone number, or `name:` and the
    beginning of a name."""
    disabled: bool | None = None
    """Only disabled users, or only enabled ones."""
    confirmed: bool | None = None
    """Only users with a confirmed e-mail address, or only those without."""
    group: Annotated[str | None, Field(max_length=32, examples=["ops"])] = None
    """Only members of the group with this name."""
    created_after: Annotated[
        AwareDatetime | None,
        AfterValidator(_in_utc),
        Field(examples=["2026-01-31T09:30:00Z"]),
    ] = None
    """Only users who were created later."""


class UserPath(Parameters):
    """Path of a user."""

    id: _Id
    """The id of the user."""


class SessionPath(UserPath):
    """Path of a sign-in."""

    sid: _Id
    """The id of the sign-in in the list."""


class TokenPath(UserPath):
    """Path of a personal access token."""

    tid: _Id
    """The id of the token in the list."""


class FactorPath(UserPath):
    """Path of a second factor or passkey."""

    fid: _Id
    """The id of the factor in the list."""


class ProfileBody(ReasonBody):
    description = "What is absent stays, an empty text removes."

    name: Annotated[MaybeEmpty | None, Field(examples=["Ann Lee"])] = None
    """The name of the user."""
    username: Annotated[MaybeEmpty | None, Field(examples=["ann"])] = None
    """The username. It needs a `reason`."""
    phone: Annotated[MaybeEmpty | None, Field(examples=["+4915112345678"])] = None
    """The phone number. It needs a `reason`."""


class EmailBody(ReasonBody):
    description = "A new e-mail address, with the reason."

    email: Email
    """The new address."""
    confirmed: bool = False
    """Whether it is known to be the user's, so that it is changed at once, without a link."""


class DeleteBody(ReasonBody):
    description = "The address of the user as a confirmation, and the reason."

    email: Annotated[MaybeEmpty | None, Field(examples=["ann@example.com"])] = None
    """The present e-mail address of the user."""
    now: bool = False
    """Erase the user at once. Only owners may."""


@response_body("A user, as administrators see one.")
class AdminUserAnswer(UserAnswer):
    """A user in a list."""

    disabled_at: _Moment | None
    """Since when the user is disabled."""
    delete_at: _Moment | None
    """When the disabled user will be erased."""
    second_factor: bool
    """Whether a second factor is asked for after the password."""
    groups: Annotated[list[str], Field(examples=[["ops"]])]
    """The groups of the user, reserved ones too."""
    origin: Literal["registered", "imported", "command", "invited", "provider"]
    """How the account came into being; null: that is not known."""


@response_body("A user, as administrators see one.")
class ShownUserAnswer(AdminUserAnswer):
    """One user."""

    last_login_at: _Moment | None
    """When the user last signed in, as far as the audit trail knows."""


@response_body("A part of the users.")
class UsersAnswer(TypedDict):
    """A part of the list."""

    data: list[AdminUserAnswer]
    """It may be short or empty although there is a next part."""
    next: str | None
    """The cursor of the next part; null at the end."""


@response_body("When the user will be erased.")
class DeletionAnswer(TypedDict):
    """A deletion that is to come."""

    delete_at: _Moment
    """Until then the user is disabled; `enable` ends the deletion."""


def as_json(user: User, settings: Settings) -> AdminUserAnswer:
    """A user in a list."""
    return {
        **user_json(user, settings.login_identifiers),
        "disabled_at": rfc3339(user.disabled_at) if user.disabled_at else None,
        "delete_at": rfc3339(user.delete_at) if user.delete_at else None,
        "second_factor": user.second_factor_at is not None,
        "groups": list(labels.names(user.labels)),
        "origin": user.origin,
    }


def shown(ctx: Context, user: User) -> ShownUserAnswer:
    """One user."""
    at = detail.last_login_at(ctx, user)
    return {**as_json(user, ctx.settings), "last_login_at": rfc3339(at) if at else None}
