"""Apply a change of a group to its members, in batches, each of which is a transaction.

The change itself is committed first, together with a row of `GroupChange`, which says how far it
has come. So nothing is lost if a process ends in between: the next step goes on from there. Of a
small group the request, or the command, takes all steps; of a large one the background task
(`authsite.groups.applying`), if this application runs it.
"""

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from secrets import randbelow
from time import perf_counter
from typing import NamedTuple
from uuid import UUID

import structlog
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from authsite.oauth.tokens import scope_loss
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import About, Cause, record, record_all
from authsite.platform.context import Context, Job, Services
from authsite.platform.runtime import clock
from authsite.platform.runtime.counters import TASK_SUCCESS
from authsite.platform.tasks.background import BACKGROUND_TASKS, Attempts, transaction
from authsite.users.groups import labels
from authsite.users.groups.labels import GroupChange, GroupMember

from . import members

BATCH = 500  # members
LARGE = 1000  # members; of more than that the background task takes the steps
TASK = "group-changes"


class Effect(NamedTuple):
    """What a change of a group means for its members.

    ``lost``: the scopes that members may have lost. ``relabel``: their labels must be written.
    """

    lost: frozenset[str] = frozenset()
    relabel: bool = False


def begin(
    ctx: Context, name: str, effect: Effect, cause: Cause, *, deletes: bool = False
) -> GroupChange | None:
    """Store what is to be applied to the members of a group, whose row is locked.

    It includes what earlier changes have not come to yet. None if there is nothing to do.
    ``deletes``: the members leave the group.
    """
    if not (effect.lost or effect.relabel):
        return None
    earlier = ctx.db.scalars(
        delete(GroupChange).where(GroupChange.group_name == name).returning(GroupChange)
    ).all()
    number = ctx.db.scalar(select(func.count()).where(GroupMember.group_name == name)) or 0
    if not number:
        return None
    lost = effect.lost.union(*(each.lost.split() for each in earlier))
    begun = GroupChange(
        group_name=name,
        deletes=deletes,
        lost=" ".join(sorted(lost)),
        relabel=effect.relabel or any(each.relabel for each in earlier),
        member_count=number,
        cause=cause.details(),
        created_at=clock.now(),
    )
    ctx.db.add(begun)
    ctx.db.flush()
    return begun


def number_of(change: GroupChange) -> dict[str, str]:
    """The details of an event with the number of members, of a large group."""
    return {"members": str(change.member_count)} if change.member_count > LARGE else {}


def is_left_to_task(ctx: Context, change_id: UUID) -> bool:
    """Whether the background task takes the steps: of a large group, if it runs here."""
    task = BACKGROUND_TASKS.of(ctx.services).get(TASK)
    if task is None or task.job is None:
        return False
    change = ctx.db.get(GroupChange, change_id)
    return change is not None and change.member_count > LARGE


def step(ctx: Context, change_id: UUID, *, wait: bool = True) -> bool:
    """Apply a change to the next members; whether there may be more.

    Their tokens end where no other group gives the scope. Call it outside of the transaction that
    has changed the group, each step in a separate one. While another process takes a step of the
    same change this one waits, or without ``wait`` does nothing.
    """
    query = select(GroupChange).where(GroupChange.id == change_id)
    query = query.with_for_update(skip_locked=not wait)
    change = ctx.db.scalar(query.execution_options(populate_existing=True))
    if change is None:
        return False
    found = _next_members(ctx.db, change)
    lost = change.lost.split()
    if change.deletes:
        left = members.leave_all(ctx, change.group_name, found)
        scope_loss.end_lost(ctx, left, lost)
        details = {"group": change.group_name, **change.cause}
        causes: list[About] = [{"user_id": user_id, "details": details} for user_id in left]
        record_all(ctx, Event.GROUP_MEMBER_REMOVED, causes)
    else:
        scope_loss.end_lost(ctx, found, lost)  # it locks the users
        if change.relabel and found:
            labels.write(ctx.db, found)
    if len(found) == BATCH:
        change.after, change.done_count = found[-1], change.done_count + len(found)
        ctx.db.flush()
        return True
    ctx.db.delete(change)
    ctx.db.flush()
    if number := number_of(change):
        details = {"group": change.group_name, **number, **change.cause}
        record(ctx, Event.GROUP_APPLIED, details=details)
    return False


def pending(db: Session) -> Mapping[str, int]:
    """How many members of each group its last changes have not come to yet."""
    left = func.sum(GroupChange.member_count - GroupChange.done_count)
    query = select(GroupChange.group_name, left).where(GroupChange.deletes.is_(False))
    rows = db.execute(query.group_by(GroupChange.group_name)).tuples()
    return {name: max(number, 0) for name, number in rows}


def deletions(db: Session) -> Mapping[str, int]:
    """How many members each deleted group has that has not lost all of them yet."""
    left = GroupChange.member_count - GroupChange.done_count
    query = select(GroupChange.group_name, left).where(GroupChange.deletes.is_(True))
    rows = db.execute(query.order_by(GroupChange.group_name)).tuples()
    return {name: max(number, 0) for name, number in rows}


def deletion_of(db: Session, name: str) -> UUID | None:
    """The id of the deletion of a group that has not lost all of its members yet."""
    of_group = GroupChange.group_name == name, GroupChange.deletes.is_(True)
    return db.scalar(select(GroupChange.id).where(*of_group))


def _next_members(db: Session, change: GroupChange) -> list[UUID]:
    query = select(GroupMember.user_id).where(GroupMember.group_name == change.group_name)
    if change.after is not None:
        query = query.where(GroupMember.user_id > change.after)
    return list(db.scalars(query.order_by(GroupMember.user_id).limit(BATCH)))


# The background task that applies the changes of large groups to their members.
#
# Every process has one. A step locks the row of its change, and the tasks of other processes
# leave out a row that is locked.


log = structlog.get_logger("authsite.groups")

NAME = "group_changes"
INTERVAL, JITTER = 5.0, 2.0  # seconds, so that processes do not look at the same time
REST = 0.5  # times the duration of a step, in which only requests use the database
STOP_TIMEOUT = 2.0  # seconds; a step that is interrupted is rolled back and repeated later


def make_job(services: Services) -> Job:
    """The background task for the groups of the application's database."""
    stop = threading.Event()
    return Job(partial(run, services, stop), stop.set, STOP_TIMEOUT)


def run(services: Services, stop: threading.Event) -> None:
    """Look for changes until ``stop`` is set. Survives every error, and logs each kind once."""
    attempts = Attempts(NAME, log)
    while not stop.wait(INTERVAL + randbelow(round(JITTER * 1000)) / 1000):
        with attempts.attempt():
            apply_all(services, stop)


def apply_all(services: Services, stop: threading.Event) -> None:
    """Apply all changes to all members, or until ``stop`` is set. Raises SQLAlchemy's errors."""
    for change_id in _pending(services):
        more = True
        while more and not stop.is_set():
            began = perf_counter()
            with transaction(services) as ctx:
                more = step(ctx, change_id, wait=False)
            TASK_SUCCESS.note(NAME)
            stop.wait(REST * (perf_counter() - began))


def _pending(services: Services) -> Sequence[UUID]:
    with services.database.autocommit.connect() as connection:
        oldest_first = select(GroupChange.id).order_by(GroupChange.created_at, GroupChange.id)
        return connection.scalars(oldest_first).all()
