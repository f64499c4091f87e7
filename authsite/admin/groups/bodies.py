"""The bodies of /v1/admin/groups: what is sent, and the answers."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from authsite.admin.bodies import ReasonBody
from authsite.groups.service import ShownGroup
from authsite.platform.http.api_metadata import Parameters, response_body
from authsite.platform.runtime import clock

from .listing import Member

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
