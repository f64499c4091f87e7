"""What the tables of groups have of a user, and their lines in an export."""

from typing import Literal

from typing_extensions import TypedDict

from authsite.platform.user_data import Id, Line, Moment, UserData, exported_line
from authsite.users.groups import models


@exported_line
class Group(TypedDict):
    """A group of users; the reserved ones have no line."""

    type: Literal["group"]
    name: str
    title: str
    require_acr: str | None
    scopes: str
    """The scopes that it binds, separated by spaces."""
    created_at: Moment
    updated_at: Moment


@exported_line
class Membership(TypedDict):
    """A user is in a group. `authsite import` leaves out those of reserved groups."""

    type: Literal["membership"]
    user_id: Id
    group_name: str
    """Also of a reserved group."""
    created_at: Moment


USER_DATA = (
    UserData("all_groups", models.Group, line=Line("groups", Group)),
    UserData(
        "groups",
        models.GroupMember,
        "group_name created_at",
        line=Line("memberships", Membership),
    ),
)
