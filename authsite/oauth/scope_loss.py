"""End the tokens that carry a scope which their users have lost, or which is to end everywhere."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, or_, select, update

from authsite import clock
from authsite.audit.events import Event
from authsite.audit.service import About, record_all
from authsite.context import Context
from authsite.users.groups import bound
from authsite.users.groups.models import Group, GroupMember
from authsite.users.models import User

from .active import ACTIVE_FAMILIES
from .families import SCOPE_LOST
from .models import Family

BATCH = 500  # families


class Carrying(NamedTuple):
    """A family with the scope of its tokens."""

    id: UUID
    user_id: UUID | None
    client_id: UUID | None
    scope: str


def end_lost(ctx: Context, user_ids: Collection[UUID], lost: set[str]) -> None:
    """End the tokens of these users that carry a scope of ``lost``, unless a group still gives it.

    The users' rows stay locked until the end of the transaction.
    """
    if not lost or not user_ids:
        return
    # In one order, against deadlocks.
    of_users = select(User.id).where(User.id.in_(user_ids)).order_by(User.id)
    ctx.db.execute(of_users.with_for_update(key_share=True))
    given = bound.given_to(ctx, user_ids)
    query = _select(_carries(lost)).where(Family.user_id.in_(user_ids), Family.revoked_at.is_(None))
    found = [Carrying(*row) for row in ctx.db.execute(query)]
    _end(
        ctx,
        [
            each
            for each in found
            if each.user_id and lost.intersection(each.scope.split()) - given[each.user_id]
        ],
        SCOPE_LOST,
    )


class Ended(NamedTuple):
    """How many families a batch has ended, and the id after which the next one begins."""

    number: int
    last: UUID | None


def end_carrying(ctx: Context, scope: str, after: UUID | None = None) -> Ended:
    """End a batch of the active tokens that carry ``scope``: those after the id ``after``."""
    query = (
        _select(_carries({scope}))
        .where(Family.revoked_at.is_(None))
        .order_by(Family.id)
        .limit(BATCH)
    )
    if after is not None:
        query = query.where(Family.id > after)
    found = [Carrying(*row) for row in ctx.db.execute(query)]
    ended = _end(ctx, [each for each in found if scope in each.scope.split()], "its scope ended")
    return Ended(ended, found[-1].id if len(found) == BATCH else None)


def count_without_group(connection: Connection, scope: str, now: datetime) -> int:
    """How many active tokens of users carry ``scope``, though no group of the user gives it.

    They are older than the mark ``[groups]`` of the scope. It reads all families.
    """
    groups = connection.execute(select(Group.name, Group.scopes))
    giving = [name for name, scopes in groups if scope in scopes.split()]
    members = select(GroupMember.user_id).where(GroupMember.group_name.in_(giving))
    query = ACTIVE_FAMILIES.with_only_columns(Family.scope).where(
        _carries({scope}),
        Family.refresh_expires_at > now,
        Family.user_id.is_not(None),
        Family.user_id.not_in(members),
    )
    return sum(scope in carried.split() for carried in connection.scalars(query))


def _select(carries: ColumnElement[bool]) -> Select[UUID, UUID | None, UUID | None, str]:
    return select(Family.id, Family.user_id, Family.client_id, Family.scope).where(carries)


def _carries(scopes: Iterable[str]) -> ColumnElement[bool]:
    """Finds too many: the caller compares the words, in which case counts on SQLite, too."""
    return or_(*(Family.scope.contains(each, autoescape=True) for each in scopes))


def _end(ctx: Context, found: Collection[Carrying], why: str) -> int:
    """End these families, and record those that were unrevoked until now."""
    if not found:
        return 0
    ended = set(
        ctx.db.scalars(
            update(Family)
            .where(Family.id.in_([each.id for each in found]), Family.revoked_at.is_(None))
            .values(revoked_at=clock.now(), revoked_why=why)
            .returning(Family.id)
            .execution_options(synchronize_session=False)
        )
    )
    causes: list[About] = [
        {
            "user_id": each.user_id,
            "client_id": each.client_id,
            "details": {"family": str(each.id), "why": why},
        }
        for each in found
        if each.id in ended
    ]
    record_all(ctx, Event.TOKEN_REVOKED, causes)
    return len(causes)
