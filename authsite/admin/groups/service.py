"""What administrators do with groups and their members.

A change that concerns every member is committed first, and then goes on in batches, each of which
is committed (`authsite.groups.applying`), so that a group may have any number of members. Of a
large group a background task goes on.
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import exists, select
from sqlalchemy.orm import aliased

from authsite.admin import reasons
from authsite.admin.administrator import Administrator
from authsite.admin.errors import Outranked
from authsite.admin.users import actions, memberships, subject
from authsite.groups import applying
from authsite.groups import service as groups
from authsite.groups.service import GroupValues
from authsite.platform.context import Context
from authsite.platform.db.transaction import commit_session
from authsite.users.groups.models import GroupMember
from authsite.users.groups.reserved import RESERVED, is_reserved
from authsite.users.models import User

from . import listing
from .errors import GroupNamed


def create(
    ctx: Context, by: Administrator, name: str, given: GroupValues, reason: str | None = None
) -> None:
    """Create a group without members. Raises what `authsite.groups.service.create` raises."""
    groups.create(ctx, name, given, reasons.cause(by, reason))


def change(
    ctx: Context, by: Administrator, name: str, given: GroupValues, reason: str | None = None
) -> None:
    """Change the given values, and end the tokens whose scope the members have lost.

    Raises what `authsite.groups.service.change` raises, and `Outranked` for a client that would
    change what an administrator may do: a member of this group and of a reserved one.
    """
    if given.scopes is not None or given.require_acr is not None:
        _require_no_administrator(ctx, by, name)
    _apply(ctx, groups.change(ctx, name, given, reasons.cause(by, reason)))


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
    if routes:
        raise GroupNamed(name, routes)
    _require_no_administrator(ctx, by, name)
    _apply(ctx, groups.delete(ctx, name, reasons.cause(by, reason)))


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

    ``account``: the account with the address that ``by`` has entered, as `memberships.set_groups`
    compares it. Raises `UnknownGroup`, `TooManyAttempts`, and what `memberships.join` raises.
    """
    actions.count_notice(ctx, by, user_id)
    user = _find(ctx, by, name, user_id)
    return memberships.join(ctx, by, user, name, reason, account)


def remove(
    ctx: Context, by: Administrator, name: str, user_id: str, reason: str | None = None
) -> bool:
    """Remove a user from a group, also from a reserved one; whether the user was in it.

    Raises `UnknownGroup`, `TooManyAttempts`, and what `memberships.leave` raises.
    """
    actions.count_notice(ctx, by, user_id)
    user = _find(ctx, by, name, user_id)
    return memberships.leave(ctx, by, user, name, reason)


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


def _find(ctx: Context, by: Administrator, name: str, user_id: str) -> User:
    """The user whose membership is to change. No client decides who is an administrator."""
    listing.require(ctx, name)
    if is_reserved(name):
        subject.require_person(by, "groups:write")
    return subject.find(ctx, user_id)
