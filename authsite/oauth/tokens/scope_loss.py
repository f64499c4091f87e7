"""End the tokens that carry a scope which their users have lost, or which is to end everywhere."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, literal, null, or_, select, update

from authsite.oauth.models import Family, PersonalToken
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import About, record_all
from authsite.platform.context import Context
from authsite.platform.runtime import clock
from authsite.platform.settings.values import ADMIN_PREFIX, is_admin
from authsite.sign_in.credentials import amr_of
from authsite.users.account import acr_of, lock_all
from authsite.users.groups import group_scopes
from authsite.users.groups.group_scopes import Holder
from authsite.users.groups.labels import Group, GroupMember

from .active import ACTIVE_FAMILIES
from .active_personal import ACTIVE_PERSONAL_TOKENS
from .families import SCOPE_LOST

BATCH = 500  # rows
Table: TypeAlias = type[Family] | type[PersonalToken]
# The tables whose rows have a scope, and the name of their id in an audit event.
TABLES: dict[Table, str] = {Family: "family", PersonalToken: "token"}


class Carrying(NamedTuple):
    """A family or a personal access token, with its scope."""

    id: UUID
    user_id: UUID | None
    client_id: UUID | None
    scope: str
    facts: str | None
    personal: bool

    def holder_of(self, user_id: UUID) -> Holder:
        """For whom the scope is; a personal access token is of no sign-in and of no client."""
        if self.personal:
            return Holder(user_id)
        return Holder(user_id, acr_of(amr_of(self.facts)), self.client_id)


def end_lost(ctx: Context, user_ids: Collection[UUID], lost: Collection[str]) -> None:
    """End the tokens of these users that carry a scope of ``lost``, unless a group still gives it.

    A group gives it to a sign-in of its level alone. The tokens end, too, that carry another scope
    for groups: it was lost by a change that was stopped, or that has not come to these users yet.
    The users' rows stay locked until the end of the transaction.
    """
    if not user_ids:
        return
    for_groups = ctx.settings.scopes.for_groups.union(lost)
    lock_all(ctx.db, user_ids)
    carried: dict[Table, list[tuple[UUID, Carrying, set[str]]]] = {table: [] for table in TABLES}
    for table, found in carried.items():
        query = _select(table, {*for_groups, ADMIN_PREFIX}).where(table.user_id.in_(user_ids))
        for each in (Carrying(*row) for row in ctx.db.execute(query)):
            scopes = {name for name in each.scope.split() if name in for_groups or is_admin(name)}
            if scopes and each.user_id is not None:
                found.append((each.user_id, each, scopes))
    holders = {user_id for found in carried.values() for user_id, _each, _scopes in found}
    groups = group_scopes.groups_of_users(ctx, holders) if holders else {}

    def has_lost(user_id: UUID, each: Carrying, scopes: set[str]) -> bool:
        holder = each.holder_of(user_id)
        return not scopes <= group_scopes.scopes_of(ctx.settings, groups[user_id], holder)

    for table, found in carried.items():
        _end(ctx, table, [row[1] for row in found if has_lost(*row)], SCOPE_LOST)


def count_of_members(ctx: Context, name: str, scopes: Collection[str], limit: int) -> int:
    """How many tokens of the members of a group carry one of ``scopes``, counted to ``limit``.

    Logins and personal access tokens. At most these end when the group does not give the scopes any
    more, or to fewer sign-ins: another group may give them, too.
    """
    if not scopes:
        return 0
    count, now = 0, clock.now()
    members = select(GroupMember.user_id).where(GroupMember.group_name == name)
    for table, expires_at in (
        (Family, Family.refresh_expires_at),
        (PersonalToken, PersonalToken.expires_at),
    ):
        query = _select(table, scopes).where(table.user_id.in_(members), expires_at > now)
        for row in ctx.db.execute(query.limit(limit)):
            count += not set(scopes).isdisjoint(Carrying(*row).scope.split())
    return min(count, limit)


class Place(NamedTuple):
    """Where a batch begins: in a table, after an id."""

    table: Table
    after: UUID | None = None


class Ended(NamedTuple):
    """How many rows a batch has ended, and where the next one begins; None after the last one."""

    number: int
    following: Place | None


def end_carrying(ctx: Context, scope: str, place: Place | None = None) -> Ended:
    """End a batch of the active tokens that carry ``scope``, from ``place`` on."""
    table, after = place or Place(Family)
    query = _select(table, {scope}).order_by(table.id).limit(BATCH)
    if after is not None:
        query = query.where(table.id > after)
    found = [Carrying(*row) for row in ctx.db.execute(query)]
    carrying = [each for each in found if scope in each.scope.split()]
    ended = _end(ctx, table, carrying, "its scope ended")
    if len(found) == BATCH:
        return Ended(ended, Place(table, found[-1].id))
    return Ended(ended, Place(PersonalToken) if table is Family else None)


def count_without_group(connection: Connection, scope: str, now: datetime) -> int:
    """How many active tokens of users carry ``scope``, although no group gives it to the user.

    They are older than the mark ``[groups]`` of the scope. It reads all families and personal
    access tokens.
    """
    groups = connection.execute(select(Group.name, Group.scopes))
    giving = [name for name, scopes in groups if scope in scopes.split()]
    members = select(GroupMember.user_id).where(GroupMember.group_name.in_(giving))
    families = ACTIVE_FAMILIES.with_only_columns(Family.scope).where(
        _carries(Family, {scope}),
        Family.refresh_expires_at > now,
        Family.user_id.is_not(None),
        Family.user_id.not_in(members),
    )
    personal = ACTIVE_PERSONAL_TOKENS.with_only_columns(PersonalToken.scope).where(
        _carries(PersonalToken, {scope}),
        PersonalToken.expires_at > now,
        PersonalToken.user_id.not_in(members),
    )
    return sum(
        scope in carried.split()
        for query in (families, personal)
        for carried in connection.scalars(query)
    )


def _select(table: Table, scopes: Iterable[str]) -> Select[*tuple[Any, ...]]:
    """The columns of `Carrying`."""
    facts = Family.facts if table is Family else null()
    columns: list[Any] = [table.id, table.user_id, table.client_id, table.scope, facts]
    personal = literal(table is PersonalToken)
    return select(*columns, personal).where(_carries(table, scopes), table.revoked_at.is_(None))


def _carries(table: Table, scopes: Iterable[str]) -> ColumnElement[bool]:
    """Finds parts of words, too, and on SQLite any case: the caller compares the words."""
    return or_(*(table.scope.contains(each, autoescape=True) for each in scopes))


def _end(ctx: Context, table: Table, found: Collection[Carrying], why: str) -> int:
    """End these rows, and record those that were unrevoked until now."""
    if not found:
        return 0
    ended = set(
        ctx.db.scalars(
            update(table)
            .where(table.id.in_([each.id for each in found]), table.revoked_at.is_(None))
            .values(revoked_at=clock.now(), revoked_why=why)
            .returning(table.id)
            .execution_options(synchronize_session=False)
        )
    )
    causes: list[About] = [
        {
            "user_id": each.user_id,
            "client_id": each.client_id,
            "details": {TABLES[table]: str(each.id), "why": why},
        }
        for each in found
        if each.id in ended
    ]
    record_all(ctx, Event.TOKEN_REVOKED, causes)
    return len(causes)
