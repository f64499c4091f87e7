"""Add a user to a group and remove one; the labels of the user change in the same transaction."""

import uuid
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session
from typing_extensions import TypedDict

from authsite.oauth.tokens import scope_loss
from authsite.platform.addresses import shown
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Cause, record
from authsite.platform.context import Context
from authsite.platform.mail import outbox
from authsite.platform.mail.message import MailBuilder, MailContent, MailJob
from authsite.platform.mail.outbox import Recipient
from authsite.platform.runtime import clock
from authsite.platform.user_data import Id, Line, Moment, UserData, exported_line
from authsite.users import service as users
from authsite.users.account import lock_all
from authsite.users.groups import labels
from authsite.users.groups.labels import PREFIX, GroupMember, groups_of, is_reserved
from authsite.users.mails import MAIL_USER, content_for
from authsite.users.models import User

from .errors import TooManyGroups
from .lookup import find

MAX_GROUPS = 30  # of one user, so that a header with their names is never cut


def add(ctx: Context, name: str, user_id: uuid.UUID, cause: Cause) -> bool:
    """Add a user to a group that is not reserved; whether the user was not in it.

    Raises `UnknownGroup`, `ReservedName` and `TooManyGroups`.
    """
    find(ctx.db, name)
    if not enter(ctx, name, user_id):
        return False
    record(ctx, Event.GROUP_MEMBER_ADDED, user_id=user_id, details=cause.details(group=name))
    return True


def remove(ctx: Context, name: str, user_id: uuid.UUID, cause: Cause) -> bool:
    """Remove a user from a group that is not reserved; whether the user was in it.

    The tokens that carry a scope which only this group gave to the user end. Raises `UnknownGroup`
    and `ReservedName`.
    """
    scopes = find(ctx.db, name).scopes
    if not leave(ctx, name, user_id):
        return False
    scope_loss.end_lost(ctx, [user_id], set(scopes.split()))
    record(ctx, Event.GROUP_MEMBER_REMOVED, user_id=user_id, details=cause.details(group=name))
    return True


def enter(ctx: Context, name: str, user_id: uuid.UUID) -> bool:
    """Store a membership and the labels; False if it is there. Raises `TooManyGroups`."""
    users.lock(ctx.db, user_id)
    if ctx.db.get(GroupMember, (user_id, name)):
        return False
    of_user = select(func.count()).where(GroupMember.user_id == user_id)
    if (ctx.db.scalar(of_user) or 0) >= MAX_GROUPS:
        raise TooManyGroups(MAX_GROUPS)
    ctx.db.add(GroupMember(user_id=user_id, group_name=name, created_at=clock.now()))
    ctx.db.flush()
    labels.write(ctx.db, [user_id])
    return True


def leave(ctx: Context, name: str, user_id: uuid.UUID) -> bool:
    """Delete a membership and write the labels; False if there is none."""
    return bool(leave_all(ctx, name, [user_id]))


def leave_all(ctx: Context, name: str, user_ids: Collection[uuid.UUID]) -> Sequence[uuid.UUID]:
    """Delete memberships of some users and write their labels; those who were members."""
    if not user_ids:
        return ()
    lock_all(ctx.db, user_ids)
    left = ctx.db.scalars(
        delete(GroupMember)
        .where(GroupMember.user_id.in_(user_ids), GroupMember.group_name == name)
        .returning(GroupMember.user_id)
        .execution_options(synchronize_session=False)
    ).all()
    labels.write(ctx.db, left)
    return left


class Member(NamedTuple):
    """A member of a group."""

    id: uuid.UUID
    email: str


def list_some(db: Session, name: str, limit: int) -> Sequence[Member]:
    """Up to ``limit`` members of a group, by address."""
    query = (
        select(User.id, User.email)
        .join(GroupMember, GroupMember.user_id == User.id)
        .where(GroupMember.group_name == name)
        .order_by(User.email, User.id)
        .limit(limit)
    )
    return [Member(*row) for row in db.execute(query)]


# The mails to all owners when an administrator comes or goes.


def send_granted(ctx: Context, owner: Recipient, user_id: UUID) -> None:
    """Enqueue the notice that the user was made an administrator."""
    outbox.put(ctx, outbox.NewMail("admin_granted", owner, about_id=user_id))


def send_revoked(ctx: Context, owner: Recipient, user_id: UUID) -> None:
    """Enqueue the notice that the user was removed from a group of administrators."""
    outbox.put(ctx, outbox.NewMail("admin_revoked", owner, about_id=user_id))


def build(job: MailJob) -> MailContent | None:
    """The notice, with the groups of administrators that the user is in now.

    None if the owner was deleted or disabled, or the administrator deleted.
    """
    owner = MAIL_USER.one(job.services.database, user_id=job.mail.user_id)
    if owner is None or job.mail.about_id is None:
        return None
    with Session(job.services.database.autocommit) as db:
        email = db.scalar(select(User.email).where(User.id == job.mail.about_id))
        names = groups_of(db, job.mail.about_id)
    if email is None:
        return None
    roles = [name.removeprefix(PREFIX) for name in names if is_reserved(name)]
    return content_for(
        owner,
        job,
        link=job.mail.base_url,
        about_address=shown(email),
        about=", ".join(roles) or None,
    )


BUILDERS: dict[str, MailBuilder] = {"admin_granted": build, "admin_revoked": build}


# What the tables of groups have of a user, and their lines in an export.


@exported_line
class Group(TypedDict):
    """A group of users; the reserved ones have no line."""

    type: Literal["group"]
    name: str
    title: str
    require_acr: str | None
    scopes: str
    """The scopes that it binds, separated by spaces."""
    created_at: Moment
    updated_at: Moment


@exported_line
class Membership(TypedDict):
    """A user is in a group. `authsite import` leaves out those of reserved groups."""

    type: Literal["membership"]
    user_id: Id
    group_name: str
    """Also of a reserved group."""
    created_at: Moment


USER_DATA = (
    UserData("all_groups", labels.Group, line=Line("groups", Group)),
    UserData(
        "groups",
        labels.GroupMember,
        "group_name created_at",
        line=Line("memberships", Membership),
    ),
)
