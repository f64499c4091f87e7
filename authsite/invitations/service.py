"""Invite people, send the mail again, revoke invitations, and list the open ones.

An accepted or revoked invitation is deleted; the audit trail keeps what has happened.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID, uuid4

from sqlalchemy import Connection, and_, delete, func, or_, select, update
from sqlalchemy.orm import Session

from authsite.groups import lookup
from authsite.groups.errors import ReservedName, UnknownGroup
from authsite.platform.audit.cause import Cause
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import pseudonym, record
from authsite.platform.context import Context
from authsite.platform.db.batches import Batch
from authsite.platform.db.table_scan import sweep_table
from authsite.platform.http.bodies import errors_of
from authsite.platform.http.errors import FieldError
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings
from authsite.sign_in.fields import read_address
from authsite.sign_in.identifiers import normalized_key
from authsite.users.groups.reserved import is_reserved

from . import mails
from .conditions import open_now
from .errors import InvitationsClosed, UnknownInvitation, UnknownInvitedGroup
from .models import Invitation

LIFETIME = timedelta(days=7)
KEEP = timedelta(days=7)  # after the end


class Invited(NamedTuple):
    """An invitation; ``new``: it was made, and mailed, just now."""

    invitation: Invitation
    new: bool


def create(ctx: Context, email: str, group: str | None, cause: Cause) -> Invited:
    """Invite the owner of an address, who will be in ``group``, if one is given.

    The answer does not depend on whether there is an account with the address. If there is an open
    invitation to the same group, nothing is made and no mail is sent. The caller has checked that
    the inviter may invite, and may decide who is in the group. Raises `InvitationsClosed`,
    `ValidationFailed` for a text that is not an address, `ReservedName`, `UnknownInvitedGroup`, and
    `TooManyAttempts` over the limit ``admin-mail`` of the inviter. Call it before the request has
    written anything.
    """
    group = group or None
    require_invitable(ctx.settings, group)
    address = read_address(email)
    count_mail(ctx, cause)
    if group:
        _find_group(ctx.db, group)
    now = clock.now()
    same = Invitation.key == address.key, Invitation.group_name.is_not_distinct_from(group)
    query = select(Invitation).where(*same, *open_now(now, ctx.settings))
    if found := ctx.db.scalars(query.limit(1)).first():
        return Invited(found, new=False)
    row = Invitation(
        id=uuid4(),
        email=address.display,
        key=address.key,
        group_name=group,
        inviter_id=_id_of(cause, "user"),
        client_id=_id_of(cause, "client"),
        version=0,
        created_at=now,
        expires_at=now + LIFETIME,
    )
    ctx.db.add(row)
    ctx.db.flush()
    _send(ctx, row, cause)
    return Invited(row, new=True)


def require_invitable(cfg: Settings, group: str | None) -> None:
    """Raise `InvitationsClosed`, or `ReservedName` for a group to which no one is invited."""
    _require_open(cfg)
    if group and is_reserved(group):
        raise ReservedName(group)


def field_errors(db: Session, email: str | None, group: str | None) -> Sequence[FieldError]:
    """What `create` finds wrong with the fields that are there, for a refused request."""
    of_address = errors_of(lambda: read_address(email)) if email else ()
    return [*of_address, *(errors_of(lambda: _find_group(db, group)) if group else ())]


def resend(ctx: Context, id_: UUID, cause: Cause) -> Invitation:
    """Mail an open invitation again: a new link for seven days, which ends the former one.

    Raises `InvitationsClosed`, `UnknownInvitation`, and `TooManyAttempts` over the limit
    ``invitation`` of the invitation or ``admin-mail`` of the caller. Call it before the request has
    written anything.
    """
    _require_open(ctx.settings)
    count_mail(ctx, cause)
    ctx.limits.count("invitation", str(id_))
    now = clock.now()
    row = ctx.db.scalars(
        update(Invitation)
        .where(Invitation.id == id_, *open_now(now, ctx.settings))
        .values(version=Invitation.version + 1, expires_at=now + LIFETIME)
        .returning(Invitation)
        .execution_options(synchronize_session=False, populate_existing=True)
    ).one_or_none()
    if row is None:
        raise UnknownInvitation
    _send(ctx, row, cause)
    return row


def revoke(ctx: Context, id_: UUID, cause: Cause) -> None:
    """End an invitation, whether it is open or not. Raises `UnknownInvitation`."""
    row = ctx.db.execute(
        delete(Invitation)
        .where(Invitation.id == id_)
        .returning(Invitation.key, Invitation.group_name)
        .execution_options(synchronize_session=False)
    ).one_or_none()
    if row is None:
        raise UnknownInvitation
    about = _about(id_, row.key, row.group_name)
    record(ctx, Event.INVITATION_REVOKED, details=cause.details(**about))


def find(ctx: Context, id_: UUID) -> Invitation:
    """The open invitation with this id. Raises `UnknownInvitation`."""
    query = select(Invitation).where(Invitation.id == id_, *open_now(clock.now(), ctx.settings))
    row = ctx.db.scalars(query).one_or_none()
    if row is None:
        raise UnknownInvitation
    return row


def list_open(
    ctx: Context, limit: int, after: tuple[datetime, UUID] | None = None, *, email: str = ""
) -> Sequence[Invitation]:
    """Up to ``limit`` open invitations, the newest first, or those of one address.

    ``after``: time and id of the last one of the part of the list before.
    """
    query = select(Invitation).where(*open_now(clock.now(), ctx.settings))
    if after:
        at, id_ = after
        earlier = and_(Invitation.created_at == at, Invitation.id < id_)
        query = query.where(or_(Invitation.created_at < at, earlier))
    if email:
        query = query.where(Invitation.key == normalized_key("email", email))
    return ctx.db.scalars(
        query.order_by(Invitation.created_at.desc(), Invitation.id.desc()).limit(limit)
    ).all()


def count_open(ctx: Context) -> int:
    """The number of open invitations."""
    conditions = open_now(clock.now(), ctx.settings)
    return ctx.db.scalar(select(func.count()).select_from(Invitation).where(*conditions)) or 0


def count_mail(ctx: Context, cause: Cause) -> None:
    """Count a mail to a user for the administrator. Raises `TooManyAttempts`."""
    if cause.kind != "command":
        ctx.limits.count("admin-mail", f"{cause.kind} {cause.id}")


def purge(connection: Connection, now: datetime, _cfg: Settings) -> Iterator[Batch]:
    """Delete invitations that ended seven days ago."""
    return sweep_table(connection, Invitation, Invitation.expires_at <= now - KEEP)


def _require_open(cfg: Settings) -> None:
    if not cfg.invitations_open:
        raise InvitationsClosed


def _find_group(db: Session, name: str) -> None:
    try:
        lookup.find(db, name)
    except UnknownGroup:
        raise UnknownInvitedGroup from None


def _send(ctx: Context, row: Invitation, cause: Cause) -> None:
    mails.send_invitation(ctx, row)
    about = _about(row.id, row.key, row.group_name)
    record(ctx, Event.INVITATION_SENT, details=cause.details(**about))


def _about(id_: UUID, key: str, group: str | None) -> dict[str, str]:
    """The details of an event. The address may be that of a person without an account."""
    return {
        "invitation": str(id_),
        "name": pseudonym(key),
        **({"group": group} if group else {}),
    }


def _id_of(cause: Cause, kind: str) -> UUID | None:
    return UUID(cause.id) if cause.kind == kind and cause.id else None
