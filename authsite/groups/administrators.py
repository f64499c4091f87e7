"""Who administers the installation: the members of the reserved groups."""

import uuid
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from authsite.oauth.tokens import scope_loss
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Cause, record
from authsite.platform.context import Context
from authsite.platform.mail import outbox
from authsite.platform.mail.outbox import Recipient
from authsite.users.groups import group_scopes
from authsite.users.groups.labels import OWNER, PREFIX, RESERVED, GroupMember
from authsite.users.models import User

from . import members
from . import service as promotion
from .errors import NotConfirmed, UnknownRole


def grant(ctx: Context, user: User, role: str, cause: Cause) -> bool:
    """Add a user to a reserved group; whether the user was not in it. All owners get a mail.

    What was to take place later at the account ends (`service.end_deferred`).
    ``role``: the name of the group, or what follows ``authsite:``. Raises `UnknownRole`,
    `NotConfirmed` and `TooManyGroups`.
    """
    name = _name(role)
    if user.email_verified_at is None:
        raise NotConfirmed
    if not members.enter(ctx, name, user.id):
        return False
    promotion.end_deferred(ctx, user.id, cause)
    record(ctx, Event.ADMIN_GRANTED, user_id=user.id, details=cause.details(group=name))
    for owner in _owners(ctx.db):
        members.send_granted(ctx, owner, user.id)
    return True


def revoke(ctx: Context, user: User, role: str, cause: Cause) -> bool:
    """Remove a user from a reserved group; whether the user was in it. All owners get a mail.

    So does an owner who is removed. Raises `UnknownRole` and `LastOwner`.
    """
    name = _name(role)
    if name == OWNER:
        group_scopes.require_another(ctx.db, user.id)
    recipients = _owners(ctx.db)
    if not members.leave(ctx, name, user.id):
        return False
    scope_loss.end_lost(ctx, [user.id], set(RESERVED[name].scopes))
    record(ctx, Event.ADMIN_REVOKED, user_id=user.id, details=cause.details(group=name))
    for owner in recipients:
        members.send_revoked(ctx, owner, user.id)
    return True


class Administrator(NamedTuple):
    """A user in at least one reserved group."""

    email: str
    groups: list[str]


def list_all(db: Session) -> list[Administrator]:
    """The administrators by address, the disabled ones too."""
    rows = db.execute(
        select(User.id, User.email, GroupMember.group_name)
        .join(GroupMember, GroupMember.user_id == User.id)
        .where(GroupMember.group_name.in_(RESERVED))
        .order_by(User.email, User.id, GroupMember.group_name)
    )
    found: dict[uuid.UUID, Administrator] = {}
    for id_, email, group in rows:
        found.setdefault(id_, Administrator(email, [])).groups.append(group)
    return list(found.values())


def no_mail_was_sent(db: Session) -> bool:
    """Whether no mail has been sent for a week, as far as the outbox knows.

    The first visit of an administrator needs a mail.
    """
    return not outbox.has_sent(db)


def _owners(db: Session) -> Sequence[Recipient]:
    query = select(User.id, User.email).where(User.id.in_(group_scopes.enabled_owners()))
    return [Recipient(*row) for row in db.execute(query.order_by(User.id))]


def _name(role: str) -> str:
    name = role if role.startswith(PREFIX) else f"{PREFIX}{role}"
    if name not in RESERVED:
        raise UnknownRole(role)
    return name
