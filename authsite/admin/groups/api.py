"""/v1/admin/groups"""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field
from pyramid.response import Response
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.admin.confirming import ReasonBody
from authsite.admin.errors import GroupNamed, InvalidCursor, Outranked, UnknownObject
from authsite.admin.guard import administrator_of
from authsite.admin.judges import of_reason
from authsite.admin.lists import LINK, ListQuery, answer, query_of
from authsite.groups.errors import (
    GroupEnding,
    GroupInUse,
    GroupTaken,
    InvalidGroup,
    NotConfirmed,
    ReservedName,
    TooManyGroups,
    UnknownGroup,
)
from authsite.groups.members import MAX_GROUPS
from authsite.groups.service import GroupValues, ShownGroup
from authsite.platform.http.api_metadata import Operation, Parameters, response_body
from authsite.platform.http.errors import FieldError
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.platform.runtime.ids import as_id
from authsite.users.errors import LastOwner

from . import service
from .service import Member, naming_routes, routes_for

# The bodies of /v1/admin/groups: what is sent, and the answers.


_MOMENT = Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-31T09:30:00Z"])
Moment = Annotated[str, _MOMENT]
Id = Annotated[str, Field(examples=["0f8b5c7e-4a52-4f0e-9a57-2f1d0f0a9d11"])]
Name = Annotated[str, Field(max_length=64, examples=["finance"])]
Title = Annotated[str, Field(max_length=200, examples=["Finance"])]
Scopes = Annotated[list[str], Field(max_length=100, examples=[["payments:write"]])]
Level = Annotated[str, Field(max_length=64, examples=["aal2"])]


class NewGroupBody(ReasonBody):
    description = "A new group."

    name: Name
    """1 to 32 of the characters a-z, 0-9, colon, _ and -."""
    title: Title
    """The name for people."""
    require_acr: Level | None = None
    """The level that a sign-in must have for the group to count."""
    scopes: Scopes | None = None
    """The scopes that it gives: only such as the setting `scopes` marks with `[groups]`."""


class GroupBody(ReasonBody):
    description = "What changes; what is absent stays."

    title: Title | None = None
    """The name for people."""
    require_acr: Level | None = None
    """The level that a sign-in must have for the group to count; empty for none."""
    scopes: Scopes | None = None
    """The scopes that it gives."""


class GroupPath(Parameters):
    """Path of a group."""

    name: Annotated[str, Field(examples=["finance"])]
    """Its name."""


class MemberPath(GroupPath):
    """Path of a member."""

    id: Id
    """The id of the user."""


@response_body("A group.")
class GroupAnswer(TypedDict):
    name: Annotated[str, Field(examples=["finance"])]
    """It never changes. Those of administrators begin with `authsite:`."""
    title: Annotated[str, Field(examples=["Finance"])]
    """The name for people."""
    require_acr: Annotated[str | None, Field(examples=["aal2"])]
    """The level that a sign-in must have for the group to count."""
    scopes: Annotated[list[str], Field(examples=[["payments:write"]])]
    """The scopes that it gives to its members."""
    member_count: Annotated[int, Field(examples=[12])]
    """How many members it has, counted to 1,000: 1001 means more than that."""
    pending_count: Annotated[int, Field(examples=[0])]
    """How many members the last changes have not come to yet: of a large group this takes time."""
    created_at: Moment | None
    """Null for a group of administrators."""
    updated_at: Moment | None
    """Null for a group of administrators."""


@response_body("A part of the list of groups.")
class GroupsAnswer(TypedDict):
    data: list[GroupAnswer]
    """The groups of administrators, then the others by name."""
    next: Annotated[str | None, Field(examples=["b3RoZXI"])]
    """The `cursor` of the next part; null at the end."""


@response_body("A member of a group.")
class MemberAnswer(TypedDict):
    id: Id
    """The id of the user."""
    email: Annotated[str, Field(examples=["ann@example.com"])]
    """The e-mail address of the user."""
    name: Annotated[str | None, Field(examples=["Ann Example"])]
    """The name of the user."""
    disabled_at: Moment | None
    """When the user was disabled; null if the user is enabled."""
    created_at: Moment
    """When the user was added to the group."""


@response_body("A part of the list of members.")
class MembersAnswer(TypedDict):
    data: list[MemberAnswer]
    """The members by id."""
    next: Annotated[str | None, Field(examples=["b3RoZXI"])]
    """The `cursor` of the next part; null at the end."""


def as_json(group: ShownGroup) -> GroupAnswer:
    return {
        "name": group.name,
        "title": group.title,
        "require_acr": group.require_acr,
        "scopes": list(group.scopes),
        "member_count": group.member_count,
        "pending_count": group.pending_count,
        "created_at": group.created_at,
        "updated_at": group.updated_at,
    }


def member_as_json(found: Member) -> MemberAnswer:
    return {
        "id": str(found.id),
        "email": found.email,
        "name": found.name,
        "disabled_at": clock.rfc3339(found.disabled_at) if found.disabled_at else None,
        "created_at": clock.rfc3339(found.created_at),
    }


_GROUPS, _GROUP = "authsite.admin.api.groups", "authsite.admin.api.groups.group"
_MEMBERS, _MEMBER = "authsite.admin.api.groups.members", "authsite.admin.api.groups.member"
_OF_NAME = (UnknownGroup("ops"), ReservedName("authsite:owner"))
_OF_VALUES = (InvalidGroup(FieldError("invalid", "title", "give one line of 1 to 100 characters")),)


def _judge_new(request: Request, given: Any) -> Sequence[FieldError]:
    ctx, by = request.authsite.ctx, administrator_of(request)
    values = _values(given.title, given.scopes, given.require_acr)
    return service.creation_errors(ctx, by, given.name, values, given.reason)


def _judge_change(request: Request, given: Any) -> Sequence[FieldError]:
    ctx, by, name = request.authsite.ctx, administrator_of(request), request.matchdict["name"]
    values = _values(given.title, given.scopes, given.require_acr)
    return service.change_errors(ctx, by, name, values, given.reason, given.sent)


def _require_deletable(request: Request) -> None:
    by, name = administrator_of(request), request.matchdict["name"]
    service.require_deletable(request.authsite.ctx, by, name)


def _reach(request: Request) -> None:
    by, name = administrator_of(request), request.matchdict["name"]
    service.reach(request.authsite.ctx, by, name, request.matchdict["id"])


@view_config(route_name=_GROUPS, request_method="GET", renderer="json", admin="groups:read")
@Operation(
    "List the groups",
    {200: GroupsAnswer},
    headers={200: LINK},
    query=ListQuery,
    errors=(InvalidCursor,),
)
def list_groups(request: Request) -> dict[str, Any]:
    query = query_of(request, ListQuery)
    by = administrator_of(request)
    found = service.some(request.authsite.ctx, by, query.limit, query.cursor)
    return answer(request, found, as_json)


@view_config(
    route_name=_GROUPS,
    request_method="POST",
    renderer="json",
    body=NewGroupBody,
    judge=_judge_new,
    admin="groups:write",
    recent=True,
)
@Operation(
    "Create a group",
    {201: GroupAnswer},
    errors=(
        *_OF_VALUES,
        ReservedName("authsite:owner"),
        GroupTaken("ops"),
        GroupEnding("ops"),
    ),
)
def create(request: Request) -> GroupAnswer:
    given: NewGroupBody = request.authsite.validated
    ctx, values = request.authsite.ctx, _values(given.title, given.scopes, given.require_acr)
    service.create(ctx, administrator_of(request), given.name, values, given.reason)
    request.response.status_int = 201
    return as_json(service.one(ctx, given.name))


@view_config(route_name=_GROUP, request_method="GET", renderer="json", admin="groups:read")
@Operation("Show a group", {200: GroupAnswer}, path=GroupPath, errors=(UnknownGroup("ops"),))
def show(request: Request) -> GroupAnswer:
    return as_json(service.one(request.authsite.ctx, request.matchdict["name"]))


@view_config(
    route_name=_GROUP,
    request_method="PATCH",
    renderer="json",
    body=GroupBody,
    judge=_judge_change,
    admin="groups:write",
    recent=True,
)
@Operation(
    "Change a group",
    {200: GroupAnswer},
    description="Tokens of members that carry a scope which no group gives them any more end. With"
    " over 1,000 members this goes on after the answer, for some minutes for a million:"
    " `pending_count` is the number of members that it has not come to yet.",
    path=GroupPath,
    errors=(*_OF_NAME, *_OF_VALUES, Outranked),
)
def change(request: Request) -> GroupAnswer:
    given: GroupBody = request.authsite.validated
    ctx, name = request.authsite.ctx, request.matchdict["name"]
    values = _values(given.title, given.scopes, given.require_acr)
    service.change(ctx, administrator_of(request), name, values, given.reason)
    return as_json(service.one(ctx, name))


@view_config(
    route_name=_GROUP,
    request_method="DELETE",
    body=ReasonBody,
    judge=of_reason(_require_deletable),
    admin="groups:write",
    recent=True,
)
@Operation(
    "Delete a group",
    {204: None},
    description="Its members leave it, which ends their tokens with a scope of this group alone."
    " With over 1,000 members this goes on after the answer, for some minutes for a million; until"
    " then no group of this name can be created.",
    path=GroupPath,
    errors=(*_OF_NAME, GroupInUse("ops", ("reports",)), GroupNamed, Outranked),
)
def delete(request: Request) -> Response:
    given: ReasonBody = request.authsite.validated
    name, by = request.matchdict["name"], administrator_of(request)
    routes = routes_for(naming_routes(request.registry), name)
    service.delete(request.authsite.ctx, by, name, routes, given.reason)
    return _nothing(request)


@view_config(route_name=_MEMBERS, request_method="GET", renderer="json", admin="groups:read")
@Operation(
    "List the members of a group",
    {200: MembersAnswer},
    headers={200: LINK},
    path=GroupPath,
    query=ListQuery,
    errors=(UnknownGroup("ops"), InvalidCursor),
)
def list_members(request: Request) -> dict[str, Any]:
    query = query_of(request, ListQuery)
    ctx, by = request.authsite.ctx, administrator_of(request)
    name = request.matchdict["name"]
    found = service.members(ctx, by, name, query.limit, query.cursor)
    return answer(request, found, member_as_json)


@view_config(route_name=_MEMBER, request_method="GET", renderer="json", admin="groups:read")
@Operation(
    "Show a member of a group",
    {200: MemberAnswer},
    path=MemberPath,
    errors=(UnknownGroup("ops"), UnknownObject),
)
def show_member(request: Request) -> MemberAnswer:
    found = service.member(
        request.authsite.ctx, request.matchdict["name"], as_id(request.matchdict["id"])
    )
    return member_as_json(found)


@view_config(
    route_name=_MEMBER,
    request_method="PUT",
    body=ReasonBody,
    judge=of_reason(_reach),
    admin="groups:write",
    recent=True,
)
@Operation(
    "Add a user to a group",
    {204: None},
    description="Also to a group of administrators, of which all owners are told by mail.",
    path=MemberPath,
    errors=(
        UnknownGroup("ops"),
        UnknownObject,
        Outranked,
        NotConfirmed,
        TooManyGroups(MAX_GROUPS),
        TooManyAttempts(60),
    ),
)
def add(request: Request) -> Response:
    given: ReasonBody = request.authsite.validated
    by, name = administrator_of(request), request.matchdict["name"]
    service.add(request.authsite.ctx, by, name, request.matchdict["id"], given.reason)
    return _nothing(request)


@view_config(
    route_name=_MEMBER,
    request_method="DELETE",
    body=ReasonBody,
    judge=of_reason(_reach),
    admin="groups:write",
    recent=True,
)
@Operation(
    "Remove a user from a group",
    {204: None},
    description="Tokens of the user that carry a scope of this group alone end.",
    path=MemberPath,
    errors=(UnknownGroup("ops"), UnknownObject, Outranked, LastOwner, TooManyAttempts(60)),
)
def remove(request: Request) -> Response:
    given: ReasonBody = request.authsite.validated
    by, name = administrator_of(request), request.matchdict["name"]
    service.remove(request.authsite.ctx, by, name, request.matchdict["id"], given.reason)
    return _nothing(request)


def _values(title: str | None, scopes: list[str] | None, level: str | None) -> GroupValues:
    return GroupValues(title, None if scopes is None else " ".join(scopes), level)


def _nothing(request: Request) -> Response:
    request.response.status_int = 204
    return request.response
