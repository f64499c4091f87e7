"""What administrators do with groups and their members.

A change that concerns every member is committed first, and then goes on in batches, each of which
is committed, so that a group may have any number of members. A request that was stopped can be
sent again.
"""

from collections.abc import Sequence
from uuid import UUID

from authsite.admin.administrator import Administrator, require_other, require_rank
from authsite.admin.errors import Outranked, UnknownObject
from authsite.context import Context
from authsite.groups import administrators, members
from authsite.groups import service as groups
from authsite.groups.service import GroupValues
from authsite.platform.db.transaction import commit_session
from authsite.users.groups.reserved import RESERVED, is_reserved
from authsite.users.models import User

from .errors import GroupNamed


def create(
    ctx: Context, by: Administrator, name: str, given: GroupValues, reason: str | None = None
) -> None:
    """Create a group without members. Raises what `authsite.groups.service.create` raises."""
    groups.create(ctx, name, given, by.cause(reason))


def change(
    ctx: Context, by: Administrator, name: str, given: GroupValues, reason: str | None = None
) -> None:
    """Change the given values, and end the tokens whose scope the members have lost.

    Raises what `authsite.groups.service.change` raises.
    """
    lost = groups.change(ctx, name, given, by.cause(reason))
    after = None
    while lost:
        commit_session(ctx.db)
        after = groups.end_lost_tokens(ctx, name, lost, after)
        if after is None:
            break


def delete(
    ctx: Context,
    by: Administrator,
    name: str,
    routes: Sequence[str],
    reason: str | None = None,
) -> None:
    """Delete a group, whose members leave it first.

    ``routes``: the names of the routes that are for its members alone. Raises `GroupNamed` if there
    is one, and what `authsite.groups.service.delete` raises.
    """
    if routes:
        raise GroupNamed(name, routes)
    cause = by.cause(reason)
    while groups.remove_some(ctx, name, cause):
        commit_session(ctx.db)
    groups.delete(ctx, name, cause)


def add(
    ctx: Context, by: Administrator, name: str, user_id: UUID | None, reason: str | None = None
) -> bool:
    """Add a user to a group; whether the user was not in it. Into a reserved one: `grant`.

    Raises `UnknownObject` without such a user, `Outranked`, `UnknownGroup`, `TooManyGroups`, and
    for a reserved group `NotConfirmed`.
    """
    user = _other(ctx, by, user_id)
    if _reserved(by, name):
        return administrators.grant(ctx, user, name, by.cause(reason))
    return members.add(ctx, name, user.id, by.cause(reason))


def remove(
    ctx: Context, by: Administrator, name: str, user_id: UUID | None, reason: str | None = None
) -> bool:
    """Remove a user from a group; whether the user was in it.

    Raises `UnknownObject` without such a user, `Outranked`, `UnknownGroup`, and for the last
    enabled owner `LastOwner`.
    """
    user = _other(ctx, by, user_id)
    if _reserved(by, name):
        return administrators.revoke(ctx, user, name, by.cause(reason))
    return members.remove(ctx, name, user.id, by.cause(reason))


def _other(ctx: Context, by: Administrator, user_id: UUID | None) -> User:
    """Another user than ``by``, whom ``by`` may change."""
    user = ctx.db.get(User, user_id) if user_id else None
    if user is None:
        raise UnknownObject
    require_other(by, user)
    require_rank(by, user)
    return user


def _reserved(by: Administrator, name: str) -> bool:
    """Whether the group is a reserved one. No client decides who is in it: `Outranked`."""
    if not is_reserved(name) or name not in RESERVED:
        return False
    if by.kind == "client":
        raise Outranked
    return True
