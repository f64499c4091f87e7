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
from authsite.platform.settings import Settings
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


def is_for_groups(cfg: Settings, scope: str) -> bool:
    """Whether a user has the scope by a group alone."""
    return scope in cfg.scopes.for_groups or is_admin(scope)


def held(ctx: Context, user_id: uuid.UUID, scope: str) -> str:
    """``scope`` without what is for groups and none of the user's groups gives.

    No reserved group gives a scope here: no client may have ``admin:*`` for a user yet.
    """
    return _held(ctx, scope, lambda: GIVEN.all(ctx.database, user_id=user_id))


def held_after_changes(ctx: Context, user_id: uuid.UUID, scope: str) -> str:
    """`held`, once every change of the user's groups that has begun is committed or undone."""
    return _held(ctx, scope, lambda: GIVEN_AFTER_CHANGES.all(ctx.database, user_id=user_id))


def held_in_transaction(ctx: Context, user_id: uuid.UUID, scope: str) -> str:
    """`held`; until the end of the transaction of ``ctx`` the user's groups give the same."""

    def read() -> Iterable[Given]:
        return [Given(*row) for row in ctx.db.execute(_GIVEN_AFTER_CHANGES, {"user_id": user_id})]

    return _held(ctx, scope, read)


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


def _held(ctx: Context, scope: str, read: Callable[[], Iterable[Given]]) -> str:
    scopes = scope.split()
    if not any(is_for_groups(ctx.settings, each) for each in scopes):
        return scope  # most tokens: without a query
    given = {each for row in read() for each in row.scopes.split()}
    return " ".join(
        each for each in scopes if each in given or not is_for_groups(ctx.settings, each)
    )
