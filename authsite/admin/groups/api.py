"""/v1/admin/groups"""

from collections.abc import Sequence
from typing import Any

from pyramid.response import Response
from pyramid.view import view_config

from authsite.admin.bodies import ReasonBody
from authsite.admin.errors import InvalidCursor, Outranked, UnknownObject
from authsite.admin.guard import administrator_of
from authsite.admin.judges import of_reason
from authsite.admin.queries import LINK, ListQuery, answer, query_of
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
from authsite.groups.service import GroupValues
from authsite.platform.http.api_metadata import Operation
from authsite.platform.http.errors import FieldError
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_id
from authsite.users.errors import LastOwner

from . import listing, service
from .bodies import (
    GroupAnswer,
    GroupBody,
    GroupPath,
    GroupsAnswer,
    MemberAnswer,
    MemberPath,
    MembersAnswer,
    NewGroupBody,
    as_json,
    member_as_json,
)
from .errors import GroupNamed
from .naming import naming_routes, routes_for

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
    found = listing.some(request.authsite.ctx, by, query.limit, query.cursor)
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
    return as_json(listing.one(ctx, given.name))


@view_config(route_name=_GROUP, request_method="GET", renderer="json", admin="groups:read")
@Operation("Show a group", {200: GroupAnswer}, path=GroupPath, errors=(UnknownGroup("ops"),))
def show(request: Request) -> GroupAnswer:
    return as_json(listing.one(request.authsite.ctx, request.matchdict["name"]))


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
    return as_json(listing.one(ctx, name))


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
    found = listing.members(ctx, by, name, query.limit, query.cursor)
    return answer(request, found, member_as_json)


@view_config(route_name=_MEMBER, request_method="GET", renderer="json", admin="groups:read")
@Operation(
    "Show a member of a group",
    {200: MemberAnswer},
    path=MemberPath,
    errors=(UnknownGroup("ops"), UnknownObject),
)
def show_member(request: Request) -> MemberAnswer:
    found = listing.member(
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
