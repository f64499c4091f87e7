"""End the tokens that carry a scope which their users have lost, or which is to end everywhere."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, or_, select, update

from authsite.context import Context
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import About, record_all
from authsite.platform.runtime import clock
from authsite.users.groups import group_scopes
from authsite.users.groups.models import Group, GroupMember
from authsite.users.models import User

from .active import ACTIVE_FAMILIES
from .active_personal_tokens import ACTIVE_PERSONAL_TOKENS
from .families import SCOPE_LOST
from .models import Family, PersonalToken

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


def end_lost(ctx: Context, user_ids: Collection[UUID], lost: set[str]) -> None:
    """End the tokens of these users that carry a scope of ``lost``, unless a group still gives it.

    So do those that carry another scope for groups: it was lost by a change that was stopped, or
    that has not come to these users yet. The users' rows stay locked until the end of the
    transaction.
    """
    lost = lost | ctx.settings.scopes.for_groups
    if not lost or not user_ids:
        return
    # In one order, against deadlocks.
    of_users = select(User.id).where(User.id.in_(user_ids)).order_by(User.id)
    ctx.db.execute(of_users.with_for_update(key_share=True))
    given = group_scopes.given_to(ctx, user_ids)
    for table in TABLES:
        query = _select(table, lost).where(table.user_id.in_(user_ids))
        found = [Carrying(*row) for row in ctx.db.execute(query)]
        _end(
            ctx,
            table,
            [
                each
                for each in found
                if each.user_id and lost.intersection(each.scope.split()) - given[each.user_id]
            ],
            SCOPE_LOST,
        )


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


def _select(table: Table, scopes: Iterable[str]) -> Select[UUID, UUID | None, UUID | None, str]:
    return select(table.id, table.user_id, table.client_id, table.scope).where(
        _carries(table, scopes), table.revoked_at.is_(None)
    )


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
