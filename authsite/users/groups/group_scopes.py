"""Which scopes the groups of a user give, of those that users have by a group alone.

A scope is for groups by its definition: ``[groups]`` in the setting `scopes`, and every scope that
begins with ``admin:``. A group gives the scopes that it binds to its members; one that no group
binds, no user has.
"""

import uuid
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from sqlalchemy import bindparam, select

from authsite.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.settings.values import is_admin

from .models import Group, GroupMember
from .reserved import RESERVED


class Given(NamedTuple):
    """The scopes that one group of a user binds."""

    scopes: str


_GIVEN = (
    select(Group.scopes)
    .join(GroupMember, GroupMember.group_name == Group.name)
    .where(GroupMember.user_id == bindparam("user_id"))
)
# FOR SHARE waits for a transaction that changes the membership or the group, and then reads what
# that has committed.
_GIVEN_AFTER_CHANGES = _GIVEN.with_for_update(read=True)
GIVEN = PreparedQuery(_GIVEN, Given)
GIVEN_AFTER_CHANGES = PreparedQuery(_GIVEN_AFTER_CHANGES, Given)

Read = Callable[[Context, uuid.UUID], Iterable[Given]]


def given(ctx: Context, user_id: uuid.UUID) -> Iterable[Given]:
    """What the groups of the user give."""
    return GIVEN.all(ctx.database, user_id=user_id)


def given_after_changes(ctx: Context, user_id: uuid.UUID) -> Iterable[Given]:
    """`given`, once every change of the user's groups that has begun is committed or undone."""
    return GIVEN_AFTER_CHANGES.all(ctx.database, user_id=user_id)


def given_in_transaction(ctx: Context, user_id: uuid.UUID) -> Iterable[Given]:
    """`given`; until the end of the transaction of ``ctx`` the user's groups give the same."""
    return [Given(*row) for row in ctx.db.execute(_GIVEN_AFTER_CHANGES, {"user_id": user_id})]


def held(ctx: Context, user_id: uuid.UUID, scope: str, read: Read = given) -> str:
    """``scope`` without what is for groups and none of the user's groups gives.

    No reserved group gives a scope here: no client may have ``admin:*`` for a user yet. ``read`` is
    called only if a part of ``scope`` is for groups.
    """
    scopes, bound = scope.split(), ctx.settings.scopes.for_groups
    for_groups = {each for each in scopes if each in bound or is_admin(each)}
    if not for_groups:
        return scope  # most tokens: without a query
    lost = for_groups.difference(*(row.scopes.split() for row in read(ctx, user_id)))
    return " ".join(each for each in scopes if each not in lost)


def given_to(ctx: Context, user_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, set[str]]:
    """The scopes that their groups give to these users, the reserved groups among them."""
    query = (
        select(GroupMember.user_id, GroupMember.group_name, Group.scopes)
        .outerjoin(Group, Group.name == GroupMember.group_name)
        .where(GroupMember.user_id.in_(user_ids))
    )
    found: dict[uuid.UUID, set[str]] = {user_id: set() for user_id in user_ids}
    for user_id, name, scopes in ctx.db.execute(query):
        found[user_id].update(RESERVED[name].scopes if name in RESERVED else scopes.split())
    return found
