"""Which scopes the groups of a user give, of those that users have by a group alone.

A scope is for groups by its definition: ``[groups]`` in the setting `scopes`, and every scope that
begins with ``admin:``. A group gives the scopes that it binds to its members; one that no group
binds, no user has. A group with a `require_acr` gives them only to a sign-in of that level.
"""

import uuid
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

from sqlalchemy import Select, bindparam, literal_column, select
from sqlalchemy.orm import Session

from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.settings import Settings
from authsite.platform.settings.values import is_admin
from authsite.users.account import LEVELS, reaches
from authsite.users.errors import LastOwner
from authsite.users.models import User

from .labels import OWNER, RESERVED, Group, GroupMember


class Holder(NamedTuple):
    """For whom a scope is: a user, at the level of the sign-in, with a token of a client.

    ``acr``: None for a personal access token, which is of no sign-in; ``client_id`` is None then.
    """

    user_id: uuid.UUID
    acr: str | None = None
    client_id: uuid.UUID | None = None


class Given(NamedTuple):
    """What one group of a user binds, and the level of a sign-in that it needs."""

    name: str
    require_acr: str | None
    scopes: str


class Source(NamedTuple):
    """A query for groups of a user, also as one that waits for transactions which change them.

    FOR SHARE does: the query then reads what these have committed.
    """

    at_once: PreparedQuery[Given]
    after_changes: PreparedQuery[Given]


_OF_USER = GroupMember.user_id == bindparam("user_id")
_OTHERS = (
    select(GroupMember.group_name.label("name"), Group.require_acr, Group.scopes)
    .join(Group, Group.name == GroupMember.group_name)
    .where(_OF_USER)
)
# The reserved groups have no row: only the memberships can change.
_ALL: Select[*tuple[Any, ...]] = select(
    GroupMember.group_name.label("name"),
    literal_column("NULL").label("require_acr"),
    literal_column("''").label("scopes"),
).where(_OF_USER)
OTHERS, ALL = (
    Source(PreparedQuery(each, Given), PreparedQuery(each.with_for_update(read=True), Given))
    for each in (_OTHERS, _ALL)
)

Read = Callable[[Context, Source, uuid.UUID], Iterable[Given]]


def given(ctx: Context, source: Source, user_id: uuid.UUID) -> Iterable[Given]:
    """What the groups of the user give."""
    return source.at_once.all(ctx.database, user_id=user_id)


def given_after_changes(ctx: Context, source: Source, user_id: uuid.UUID) -> Iterable[Given]:
    """`given`, once every change of the user's groups that has begun is committed or undone."""
    return source.after_changes.all(ctx.database, user_id=user_id)


def held(ctx: Context, holder: Holder, scope: str, read: Read = given) -> str:
    """``scope`` without what is for groups and none of the user's groups gives.

    The scopes of administrators are left out, too, unless the setting `admin-clients` has the
    client. ``read`` is called only if a part of ``scope`` is for groups.
    """
    scopes, bound = scope.split(), ctx.settings.scopes.for_groups
    admin = set(filter(is_admin, scopes))
    others = bound.intersection(scopes) - admin
    if not admin and not others:
        return scope  # most tokens: without a query
    rows: list[Given] = []
    if others:
        rows += read(ctx, OTHERS, holder.user_id)
    if admin and _is_for_administrators(ctx.settings, holder):
        rows += (row for row in read(ctx, ALL, holder.user_id) if row.name in RESERVED)
    lost = (admin | others) - scopes_of(ctx.settings, rows, holder)
    return " ".join(each for each in scopes if each not in lost)


def level_for(ctx: Context, holder: Holder, scope: str, *, a_part: bool = False) -> str | None:
    """The lowest level of a sign-in at which ``holder`` would have all of ``scope``, or a part.

    None if no level above that of ``holder`` does; also if the level is not why it is missing. For
    requests that are refused: it reads the groups of the user, once.
    """
    rows: dict[Source, list[Given]] = {}

    def read(ctx: Context, source: Source, user_id: uuid.UUID) -> Iterable[Given]:
        if source not in rows:
            rows[source] = list(given(ctx, source, user_id))
        return rows[source]

    asked = " ".join(scope.split())

    def is_enough(acr: str) -> bool:
        found = held(ctx, holder._replace(acr=acr), asked, read)
        return bool(found) if a_part else found == asked

    if holder.acr is None or is_enough(holder.acr):
        return None
    higher = (each for each in LEVELS if not reaches(holder.acr, each))
    return next(filter(is_enough, higher), None)


def held_in_transaction(ctx: Context, user_id: uuid.UUID, scope: str) -> str:
    """`held` of a personal access token.

    Until the end of the transaction of ``ctx`` the user's groups give the same.
    """

    def read(ctx: Context, _source: Source, user_id: uuid.UUID) -> Iterable[Given]:
        query = _OTHERS.with_for_update(read=True)
        return [Given(*row) for row in ctx.db.execute(query, {"user_id": user_id})]

    return held(ctx, Holder(user_id), scope, read)


def scopes_of(settings: Settings, groups: Iterable[Given], holder: Holder) -> set[str]:
    """The scopes that these groups of a user give to ``holder``."""
    found: set[str] = set()
    for name, require_acr, scopes in groups:
        if name in RESERVED:
            if _is_for_administrators(settings, holder):
                found.update(RESERVED[name].scopes)
        elif require_acr is None or reaches(holder.acr, require_acr):
            found.update(scopes.split())
    return found


def groups_of_users(ctx: Context, user_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[Given]]:
    """The groups of these users, the reserved ones among them, for `scopes_of`."""
    query = (
        select(GroupMember.user_id, GroupMember.group_name, Group.require_acr, Group.scopes)
        .outerjoin(Group, Group.name == GroupMember.group_name)
        .where(GroupMember.user_id.in_(user_ids))
    )
    found: dict[uuid.UUID, list[Given]] = {user_id: [] for user_id in user_ids}
    for user_id, name, require_acr, scopes in ctx.db.execute(query):
        found[user_id].append(Given(name, require_acr, scopes or ""))
    return found


def _is_for_administrators(settings: Settings, holder: Holder) -> bool:
    """Whether ``holder`` may have scopes of administrators: by its client and its level."""
    client = str(holder.client_id) in settings.admin_clients
    return client and reaches(holder.acr, settings.admin_acr)


# An installation keeps an owner: a member of ``authsite:owner`` who is enabled.


def require_another(db: Session, user_id: uuid.UUID) -> None:
    """Call this before a user is disabled, deleted or removed from the owners.

    Raises `LastOwner` if the user is the only enabled owner. The rows of all owners stay locked
    until the transaction ends, so that two of them cannot go at the same time.
    """
    member = GroupMember.user_id == user_id, GroupMember.group_name == OWNER
    if db.scalar(select(GroupMember.user_id).where(*member)) is None:
        return
    # In one order, against deadlocks. SQLite, whose transaction has the write lock, ignores it.
    db.execute(
        select(User.id)
        .where(User.id.in_(select(GroupMember.user_id).where(GroupMember.group_name == OWNER)))
        .order_by(User.id)
        .with_for_update(key_share=True)
    )
    # A separate statement: it reads what other transactions have committed before the lock.
    if set(db.scalars(enabled_owners())) == {user_id}:
        raise LastOwner


def enabled_owners() -> Select[uuid.UUID]:
    """The ids of the owners who are enabled."""
    return (
        select(User.id)
        .join(GroupMember, GroupMember.user_id == User.id)
        .where(GroupMember.group_name == OWNER, User.disabled_at.is_(None))
    )
