"""Lists of groups and of their members."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import func, literal, select, union_all

from authsite.admin.administrator import Administrator
from authsite.admin.errors import UnknownObject
from authsite.admin.lists import Page, after, cursor
from authsite.groups import applying
from authsite.groups.errors import UnknownGroup
from authsite.groups.lookup import is_name
from authsite.groups.service import ShownGroup, of_row
from authsite.platform.context import Context
from authsite.users.groups.models import Group, GroupMember
from authsite.users.groups.reserved import RESERVED
from authsite.users.models import User

COUNTED_TO = 1000
_GROUPS = {"list": "groups"}


class Member(NamedTuple):
    """A member of a group. ``created_at``: when the user was added to it."""

    id: UUID
    email: str
    name: str | None
    disabled_at: datetime | None
    created_at: datetime


def one(ctx: Context, name: str) -> ShownGroup:
    """A group, reserved or not; its members are counted to `COUNTED_TO`. Raises `UnknownGroup`."""
    if name in RESERVED:
        return _reserved(ctx, name, _count(ctx, [name]))
    group = ctx.db.get(Group, name) if is_name(name) else None
    if group is None:
        raise UnknownGroup(name)
    return of_row(group, _count(ctx, [name])[name], applying.pending(ctx.db))


def some(ctx: Context, by: Administrator, limit: int, text: str | None) -> Page[ShownGroup]:
    """The groups behind the cursor ``text``: the reserved ones, then the others by name.

    Raises `InvalidCursor`.
    """
    key = after(ctx, by, _GROUPS, text)
    last = str(key[0]) if key else None
    reserved = list(RESERVED)
    if last is not None:
        reserved = reserved[reserved.index(last) + 1 :] if last in RESERVED else []
    query = select(Group).order_by(Group.name).limit(limit + 1)
    if last is not None and last not in RESERVED:
        query = query.where(Group.name > last)
    rows = [*reserved, *ctx.db.scalars(query)][: limit + 1]
    counts = _count(ctx, [getattr(each, "name", each) for each in rows[:limit]])
    pending = applying.pending(ctx.db)
    shown = [
        _reserved(ctx, each, counts)
        if isinstance(each, str)
        else of_row(each, counts[each.name], pending)
        for each in rows[:limit]
    ]
    more = len(rows) > limit
    return Page(shown, cursor(ctx, by, _GROUPS, [shown[-1].name]) if more else None)


def members(
    ctx: Context, by: Administrator, name: str, limit: int, text: str | None
) -> Page[Member]:
    """The members behind the cursor ``text``, by id. Raises `UnknownGroup` and `InvalidCursor`."""
    require(ctx, name)
    filters = {"list": "members", "group": name}
    key = after(ctx, by, filters, text)
    query = _MEMBERS.where(GroupMember.group_name == name).order_by(GroupMember.user_id)
    if key:
        query = query.where(GroupMember.user_id > UUID(str(key[0])))
    rows = [Member(*row) for row in ctx.db.execute(query.limit(limit + 1))]
    shown: Sequence[Member] = rows[:limit]
    more = len(rows) > limit
    return Page(shown, cursor(ctx, by, filters, [str(shown[-1].id)]) if more else None)


def member(ctx: Context, name: str, user_id: UUID | None) -> Member:
    """One member. Raises `UnknownGroup`, and `UnknownObject` if the user is not in the group."""
    require(ctx, name)
    of_user = GroupMember.group_name == name, GroupMember.user_id == user_id
    row = ctx.db.execute(_MEMBERS.where(*of_user)).first()
    if row is None:
        raise UnknownObject
    return Member(*row)


_MEMBERS = select(User.id, User.email, User.name, User.disabled_at, GroupMember.created_at).join(
    GroupMember, GroupMember.user_id == User.id
)


def require(ctx: Context, name: str) -> None:
    """Raise `UnknownGroup` unless there is a group of this name, reserved or not."""
    if name not in RESERVED and (not is_name(name) or ctx.db.get(Group, name) is None):
        raise UnknownGroup(name)


def _reserved(ctx: Context, name: str, counts: Mapping[str, int]) -> ShownGroup:
    group = RESERVED[name]
    return ShownGroup(name, group.title, ctx.settings.admin_acr, group.scopes, counts[name])


def _count(ctx: Context, names: Sequence[str]) -> dict[str, int]:
    """How many members each of these groups has, counted to `COUNTED_TO` and one; one statement."""
    if not names:
        return {}
    wanted = union_all(*(select(literal(each).label("name")) for each in names)).subquery()
    some = (
        select(GroupMember.user_id)
        .where(GroupMember.group_name == wanted.c.name)
        .limit(COUNTED_TO + 1)
        .correlate(wanted)
        .subquery()
    )
    number = select(func.count()).select_from(some).correlate(wanted).scalar_subquery()
    return dict(ctx.db.execute(select(wanted.c.name, number)).tuples().all())
