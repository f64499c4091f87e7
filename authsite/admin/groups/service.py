"""What administrators do with groups and their members.

A change that concerns every member is committed first, and then goes on in batches, each of which
is committed (`authsite.groups.applying`), so that a group may have any number of members. Of a
large group a background task goes on.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from pyramid.interfaces import IRoutesMapper
from pyramid.registry import Registry
from sqlalchemy import exists, func, literal, select, union_all
from sqlalchemy.orm import Session, aliased

from authsite.admin import reasons
from authsite.admin.errors import GroupNamed, Outranked, UnknownObject
from authsite.admin.guard import ROUTES, Administrator, require_other, require_rank
from authsite.admin.lists import Page, after, cursor
from authsite.admin.users import actions, detail
from authsite.groups import applying, lookup
from authsite.groups import service as groups
from authsite.groups.errors import UnknownGroup
from authsite.groups.lookup import is_name
from authsite.groups.service import GroupValues, ShownGroup, of_row
from authsite.guards.route_options import rules_of
from authsite.platform.context import Context
from authsite.platform.db.transaction import commit_session
from authsite.platform.http.bodies import require_valid
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.i18n import _
from authsite.users import service as users
from authsite.users.groups.labels import RESERVED, Group, GroupMember, is_reserved
from authsite.users.models import User

# Which routes of the application name a group, or a scope that a group gives.


class NamingRoute(NamedTuple):
    """A route with the options ``group`` or ``scope``."""

    name: str
    path: str
    group: str | None
    scopes: frozenset[str]


def naming_routes(registry: Registry) -> list[NamingRoute]:
    """The routes that name a group or a scope, in the order of the application."""
    found = []
    for route in registry.getUtility(IRoutesMapper).get_routes(include_static=True):
        rules = rules_of(route)
        if (rules.group or rules.scope) and not route.name.startswith(ROUTES):
            scopes = frozenset(rules.scope.split())
            found.append(NamingRoute(route.name, route.pattern, rules.group, scopes))
    return found


def routes_for(routes: Iterable[NamingRoute], group: str) -> list[str]:
    """The names of the routes that are for the members of ``group`` alone."""
    return [each.name for each in routes if each.group == group]


def routes_by_scope(routes: Iterable[NamingRoute], scopes: Iterable[str]) -> list[NamingRoute]:
    """The routes that need one of ``scopes``."""
    given = set(scopes)
    return [each for each in routes if not given.isdisjoint(each.scopes)]


# Lists of groups and of their members.


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


_UNKNOWN = _("There is no user with this address, login name or id.")
_UNCONFIRMED = _(
    "The account with this address has not confirmed it, so it may be another person's. Invite the"
    " person to the group, or look at the account and enter its id."
)


def create(
    ctx: Context, by: Administrator, name: str, given: GroupValues, reason: str | None = None
) -> None:
    """Create a group without members. Raises what `authsite.groups.service.create` raises."""
    if wrong := _creation_errors(ctx, by, name, given, reason):
        raise ValidationFailed(details=[*wrong, *groups.taken_errors(ctx.db, name)])
    groups.create(ctx, name, given, reasons.cause(by, reason))


def creation_errors(
    ctx: Context, by: Administrator, name: str | None, given: GroupValues, reason: str | None
) -> Sequence[FieldError]:
    """What is wrong with the fields that are there, for a refused request. Raises `ReservedName`.

    A name that is taken is among them; where nothing else is wrong, `create` has its own error.
    """
    wrong = _creation_errors(ctx, by, name, given, reason)
    return [*wrong, *groups.taken_errors(ctx.db, name)]


def _creation_errors(
    ctx: Context, by: Administrator, name: str | None, given: GroupValues, reason: str | None
) -> Sequence[FieldError]:
    wrong = groups.new_value_errors(ctx.settings, name, given)
    return [*wrong, *reasons.errors(by, reason)]


def change(
    ctx: Context, by: Administrator, name: str, given: GroupValues, reason: str | None = None
) -> None:
    """Change the given values, and end the tokens whose scope the members have lost.

    Raises what `authsite.groups.service.change` raises, and `Outranked` for a client that would
    change what an administrator may do: a member of this group and of a reserved one.
    """
    sent = [field for field, value in given._asdict().items() if value is not None]
    require_valid(change_errors(ctx, by, name, given, reason, sent))
    _apply(ctx, groups.change(ctx, name, given, reasons.cause(by, reason)))


def change_errors(
    ctx: Context,
    by: Administrator,
    name: str,
    given: GroupValues,
    reason: str | None,
    sent: Collection[str],
) -> Sequence[FieldError]:
    """What `change` finds wrong with the values and the reason.

    ``sent``: the names of the values that are to change, also of those with a known error, which
    ``given`` has not. Raises `UnknownGroup`, `ReservedName` and `Outranked`.
    """
    group = lookup.read(ctx.db, name)
    if not {"scopes", "require_acr"}.isdisjoint(sent):
        _require_no_administrator(ctx, by, name)
    wrong = groups.value_errors(ctx.settings, given, group.scopes.split())
    return [*wrong, *reasons.errors(by, reason)]


def delete(
    ctx: Context,
    by: Administrator,
    name: str,
    routes: Sequence[str],
    reason: str | None = None,
) -> None:
    """Delete a group, whose members leave it.

    ``routes``: the names of the routes that are for its members alone. Raises `GroupNamed` if there
    is one, what `authsite.groups.service.delete` raises, and `Outranked` as `change`.
    """
    require_deletable(ctx, by, name)
    cause = reasons.cause(by, reason)
    if routes:
        raise GroupNamed(name, routes)
    _apply(ctx, groups.delete(ctx, name, cause))


def require_deletable(ctx: Context, by: Administrator, name: str) -> None:
    """Raise `UnknownGroup`, `ReservedName` or `Outranked`, as `delete`."""
    groups.require_deletable(ctx.db, name)
    _require_no_administrator(ctx, by, name)


def add(
    ctx: Context,
    by: Administrator,
    name: str,
    user_id: str,
    reason: str | None = None,
    *,
    account: str | None = None,
) -> bool:
    """Add a user to a group, also to a reserved one; whether the user was not in it.

    ``account``: the account with the address that ``by`` has entered, as `actions.set_groups`
    compares it. Raises `UnknownGroup`, `TooManyAttempts`, and what `actions.join` raises.
    """
    actions.count_notice(ctx, by, user_id)
    user = reach(ctx, by, name, user_id)
    return actions.join(ctx, by, user, name, reason, account)


def remove(
    ctx: Context, by: Administrator, name: str, user_id: str, reason: str | None = None
) -> bool:
    """Remove a user from a group, also from a reserved one; whether the user was in it.

    Raises `UnknownGroup`, `TooManyAttempts`, and what `actions.leave` raises.
    """
    actions.count_notice(ctx, by, user_id)
    user = reach(ctx, by, name, user_id)
    return actions.leave(ctx, by, user, name, reason)


def reach(ctx: Context, by: Administrator, name: str, user_id: str) -> User:
    """The user whose membership is to change. No client decides who is an administrator.

    Raises `UnknownGroup`, `PermissionMissing`, `UnknownObject` and `Outranked`.
    """
    require(ctx, name)
    if is_reserved(name):
        detail.require_person(by, "groups:write")
    user = detail.find(ctx, user_id)
    require_other(by, user)
    require_rank(by, user)
    return user


def add_named(
    ctx: Context, by: Administrator, name: str, text: str, reason: str | None = None
) -> bool:
    """`add` for the user with this address, login name or id.

    Raises `ValidationFailed`, too, where there is none, or the address is not confirmed and so may
    be another person's.
    """
    user, _wrong = _named(ctx, text)
    if user is None:
        raise ValidationFailed(details=addition_errors(ctx, by, name, text, reason))
    account = actions.account_shown(user)  # with another address it may be another person
    return add(ctx, by, name, str(user.id), reason, account=account)


def addition_errors(
    ctx: Context, by: Administrator, name: str, text: str | None, reason: str | None
) -> Sequence[FieldError]:
    """What `add_named` finds wrong with the fields. Raises as `reach`."""
    user, wrong = _named(ctx, text) if text else (None, ())
    if user is None:
        require(ctx, name)
    else:
        reach(ctx, by, name, str(user.id))
    return [*wrong, *reasons.errors(by, reason)]


def _named(ctx: Context, text: str) -> tuple[User | None, Sequence[FieldError]]:
    with Session(ctx.database.autocommit) as reading:  # what is counted then comes before a lock
        user = users.find(reading, text)
    if user is None:
        return None, [FieldError("unknown", "user", _UNKNOWN)]
    if user.email_verified_at is None and text.lower() != str(user.id):
        return None, [FieldError("unconfirmed", "user", _UNCONFIRMED)]
    return user, ()


def _apply(ctx: Context, change_id: UUID | None) -> None:
    """Apply a change to all members, unless the background task does."""
    if change_id is None or applying.is_left_to_task(ctx, change_id):
        return
    more = True
    while more:
        commit_session(ctx.db)
        more = applying.step(ctx, change_id)


def _require_no_administrator(ctx: Context, by: Administrator, name: str) -> None:
    """Raise `Outranked` for a client if a member of the group is an administrator."""
    if by.kind != "client":
        return
    other = aliased(GroupMember)
    reserved = exists().where(
        other.user_id == GroupMember.user_id, other.group_name.in_(list(RESERVED))
    )
    members = select(GroupMember.user_id).where(GroupMember.group_name == name, reserved)
    if ctx.db.scalar(members.limit(1)):
        raise Outranked
