"""Users and what is done to an account."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, Field
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.admin.confirming import ReasonBody
from authsite.admin.errors import (
    InvalidCursor,
    Outranked,
    SearchTooWide,
    UnknownObject,
    UserIsDisabled,
)
from authsite.admin.guard import Administrator, administrator_of
from authsite.admin.judges import of_reason
from authsite.admin.lists import LINK, ListQuery, answer, query_of
from authsite.admin.users import actions, detail, judges, search
from authsite.platform.context import Context
from authsite.platform.http.api_metadata import Operation, Parameters, View, response_body
from authsite.platform.http.bodies import Email, MaybeEmpty
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.platform.runtime.clock import rfc3339
from authsite.platform.settings import Settings
from authsite.users.account import UserAnswer
from authsite.users.account import as_json as user_json
from authsite.users.errors import AddressTaken, IdentifierTaken, LastOwner
from authsite.users.groups import labels
from authsite.users.models import User

# The bodies of requests and responses about users.


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


class UserProfileBody(ReasonBody):
    description = "What is absent stays, an empty text removes."

    name: Annotated[MaybeEmpty | None, Field(examples=["Ann Lee"])] = None
    """The name of the user."""
    username: Annotated[MaybeEmpty | None, Field(examples=["ann"])] = None
    """The username. It needs a `reason`."""
    phone: Annotated[MaybeEmpty | None, Field(examples=["+4915112345678"])] = None
    """The phone number. It needs a `reason`."""


class UserEmailBody(ReasonBody):
    description = "A new e-mail address, with the reason."

    email: Email
    """The new address."""
    confirmed: bool = False
    """Whether it is known to be the user's, so that it is changed at once, without a link."""


class UserDeletionBody(ReasonBody):
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


_LIST = "authsite.admin.api.users"
_ERRORS = (UnknownObject, Outranked)
_NOTICED = (*_ERRORS, TooManyAttempts(60))
_MAILED = (*_NOTICED, UserIsDisabled)


@view_config(route_name=_LIST, request_method="GET", renderer="json", admin="users:read")
@Operation(
    "Search users",
    {200: UsersAnswer},
    description="In the order of the login names if one is looked for, of the ids in a group, else "
    "the newest first. With a filter that no index answers a part ends after 500 users that were "
    "read, with a cursor, even if none of them is found.",
    headers={200: LINK},
    query=UsersQuery,
    errors=(InvalidCursor, SearchTooWide),
)
def list_users(request: Request) -> dict[str, Any]:
    query, ctx = query_of(request, UsersQuery), request.authsite.ctx
    wanted = search.Wanted(
        query.q or "", query.disabled, query.confirmed, query.group, query.created_after
    )
    by = administrator_of(request)
    found = search.search(ctx, by, wanted, cursor=query.cursor, limit=query.limit)
    return answer(request, found, lambda user: as_json(user, ctx.settings))


@view_config(route_name=f"{_LIST}.user", request_method="GET", renderer="json", admin="users:read")
@Operation("Show a user", {200: ShownUserAnswer}, path=UserPath, errors=(UnknownObject,))
def show(request: Request) -> ShownUserAnswer:
    return shown(request.authsite.ctx, user_of(request))


@view_config(
    route_name=f"{_LIST}.user",
    request_method="PATCH",
    renderer="json",
    body=UserProfileBody,
    judge=judges.profile,
    admin="users:write",
)
@Operation(
    "Change a user's name, username or phone number",
    {200: ShownUserAnswer},
    path=UserPath,
    errors=(*_NOTICED, IdentifierTaken(["username"])),
)
def change(request: Request) -> ShownUserAnswer:
    given: UserProfileBody = request.authsite.validated
    begin = acting if given.username is given.phone is None else noticed
    user = actions.change_profile(
        *begin(request),
        given.reason,
        name=given.name,
        username=given.username,
        phone=given.phone,
    )
    return shown(request.authsite.ctx, user)


@view_config(
    route_name=f"{_LIST}.user",
    request_method="DELETE",
    renderer="json",
    body=UserDeletionBody,
    judge=judges.removal,
    admin="users:write",
    recent=True,
)
@Operation(
    "Delete a user",
    {202: DeletionAnswer, 204: None},
    description="The user is disabled, and erased in seven days; with `now` at once.",
    path=UserPath,
    errors=(*_NOTICED, LastOwner),
)
def delete(request: Request) -> DeletionAnswer | Any:
    given: UserDeletionBody = request.authsite.validated
    at = actions.delete(*noticed(request), given.reason, given.email, now=given.now)
    if at is None:
        request.response.status_int = 204
        return request.response
    request.response.status_int = 202
    return {"delete_at": rfc3339(at)}


def _action(
    name: str, permission: str, *, recent: bool = False, needs_reason: bool = False
) -> Callable[[View], View]:
    """The configuration of an action of one user."""
    made: Callable[[View], View] = view_config(
        route_name=f"{_LIST}.{name}",
        request_method="POST",
        renderer="json",
        body=ReasonBody,
        judge=of_reason(judges.reach, required=needs_reason),
        admin=permission,
        recent=recent,
    )
    return made


@_action("disable", "users:write", needs_reason=True)
@Operation(
    "Disable a user",
    {200: ShownUserAnswer},
    description="All sign-ins end. It needs a `reason`.",
    path=UserPath,
    errors=(*_NOTICED, LastOwner),
)
def disable(request: Request) -> ShownUserAnswer:
    return shown(request.authsite.ctx, actions.disable(*noticed(request), reason_of(request)))


@_action("enable", "users:write")
@Operation(
    "Enable a disabled user",
    {200: ShownUserAnswer},
    description="A deletion that was to come is ended.",
    path=UserPath,
    errors=_NOTICED,
)
def enable(request: Request) -> ShownUserAnswer:
    return shown(request.authsite.ctx, actions.enable(*noticed(request), reason_of(request)))


@_action("confirm", "users:write", recent=True, needs_reason=True)
@Operation(
    "Mark a user's e-mail address as confirmed",
    {200: ShownUserAnswer},
    description="It needs a `reason`.",
    path=UserPath,
    errors=_ERRORS,
)
def confirm(request: Request) -> ShownUserAnswer:
    return shown(request.authsite.ctx, actions.confirm(*acting(request), reason_of(request)))


@_action("sign-out", "sessions:write")
@Operation("End all sign-ins of a user", {200: ShownUserAnswer}, path=UserPath, errors=_NOTICED)
def sign_out(request: Request) -> ShownUserAnswer:
    return shown(request.authsite.ctx, actions.sign_out(*noticed(request), reason_of(request)))


@_action("reset-password", "mail:write")
@Operation(
    "Mail a user a link that resets the password",
    {202: ShownUserAnswer},
    path=UserPath,
    errors=_MAILED,
)
def reset_password(request: Request) -> ShownUserAnswer:
    actions.count_mail(request.authsite.ctx, administrator_of(request))
    user = actions.send_reset(*acting(request), reason_of(request))
    request.response.status_int = 202
    return shown(request.authsite.ctx, user)


@_action("send-verification", "mail:write")
@Operation(
    "Mail a user a link that confirms the address",
    {202: ShownUserAnswer},
    description="To the new address of a pending change; nothing if the address is confirmed.",
    path=UserPath,
    errors=_MAILED,
)
def send_verification(request: Request) -> ShownUserAnswer:
    actions.count_mail(request.authsite.ctx, administrator_of(request))
    user = actions.send_verification(*acting(request), reason_of(request))
    request.response.status_int = 202
    return shown(request.authsite.ctx, user)


@view_config(
    route_name=f"{_LIST}.change-email",
    request_method="POST",
    renderer="json",
    body=UserEmailBody,
    judge=judges.email,
    admin="users:write",
    recent=True,
)
@Operation(
    "Change a user's e-mail address",
    {200: ShownUserAnswer, 202: ShownUserAnswer},
    description="With `confirmed` at once; else when the link is used that is mailed to it. It "
    "needs a `reason`.",
    path=UserPath,
    errors=(*_MAILED, AddressTaken),
)
def change_email(request: Request) -> ShownUserAnswer:
    given: UserEmailBody = request.authsite.validated
    actions.count_mail(request.authsite.ctx, administrator_of(request))
    user = actions.change_email(
        *acting(request), given.email, given.reason, confirmed=given.confirmed
    )
    request.response.status_int = 200 if given.confirmed else 202
    return shown(request.authsite.ctx, user)


def user_of(request: Request) -> User:
    """The user of the path. Raises `UnknownObject`."""
    return detail.find(request.authsite.ctx, request.matchdict["id"])


def acting(request: Request) -> tuple[Context, Administrator, User]:
    """The first arguments of an action: context, administrator and user."""
    return request.authsite.ctx, administrator_of(request), user_of(request)


def noticed(request: Request) -> tuple[Context, Administrator, User]:
    """`acting` for an action of which the user is told. Raises `TooManyAttempts`."""
    by = administrator_of(request)
    actions.count_notice(request.authsite.ctx, by, request.matchdict["id"])
    return acting(request)


def reason_of(request: Request) -> str | None:
    """The reason in the body."""
    given: ReasonBody = request.authsite.validated
    return given.reason
