"""Invite people, send the mail again, revoke invitations, and list the open ones.

An accepted or revoked invitation is deleted; the audit trail keeps what has happened.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Literal, NamedTuple
from uuid import UUID, uuid4

from pydantic import Field
from sqlalchemy import Connection, and_, bindparam, delete, func, or_, select, update
from sqlalchemy.orm import Session
from typing_extensions import TypedDict

from authsite.groups import lookup
from authsite.groups.errors import ReservedName, UnknownGroup
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Cause, pseudonym, record
from authsite.platform.context import Context
from authsite.platform.crypto.keys import KeyRing
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.db.batches import Batch, sweep_table
from authsite.platform.http.api_metadata import response_body
from authsite.platform.http.bodies import errors_of
from authsite.platform.http.errors import FieldError
from authsite.platform.mail import outbox
from authsite.platform.mail.message import MailBuilder, MailContent, MailJob, own_link
from authsite.platform.mail.outbox import Recipient
from authsite.platform.runtime import clock
from authsite.platform.runtime.clock import rfc3339
from authsite.platform.settings import Settings
from authsite.sign_in.fields import read_address
from authsite.sign_in.identifiers import normalized_key
from authsite.users.groups.labels import Group, is_reserved
from authsite.users.models import LoginName, User

from .conditions import open_now
from .errors import InvalidInvitation, InvitationsClosed, UnknownInvitation, UnknownInvitedGroup
from .models import Invitation

# An invitation as administrators see it: never the link.


_ID = Field(json_schema_extra={"format": "uuid"}, examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])
_MOMENT = Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-31T09:30:00Z"])


@response_body("An invitation.")
class InvitationAnswer(TypedDict):
    id: Annotated[str, _ID]
    """Its id."""
    email: Annotated[
        str, Field(json_schema_extra={"format": "email"}, examples=["ann@example.com"])
    ]
    """The invited address."""
    group: Annotated[str | None, Field(examples=["ops"])]
    """The group that the person will be in; null for none."""
    expires_at: Annotated[str, _MOMENT]
    """When the link ends."""


class Inviter(TypedDict):
    """Who has invited."""

    kind: Literal["user", "client", "command"]
    """Whether a user, a client that acts for itself, or a command has invited."""
    id: Annotated[str | None, _ID]
    """Null for a command."""


@response_body("An open invitation, with who has sent it.")
class OpenInvitation(InvitationAnswer):
    created_at: Annotated[str, _MOMENT]
    """When the person was invited."""
    inviter: Inviter
    """Who has sent it."""


def shown(row: Invitation) -> InvitationAnswer:
    """The answer to a new invitation."""
    return {
        "id": str(row.id),
        "email": row.email,
        "group": row.group_name,
        "expires_at": rfc3339(row.expires_at),
    }


def shown_open(row: Invitation) -> OpenInvitation:
    """An invitation of a list."""
    return {**shown(row), "created_at": rfc3339(row.created_at), "inviter": inviter_of(row)}


def inviter_of(row: Invitation) -> Inviter:
    """Who has invited."""
    if row.inviter_id:
        return {"kind": "user", "id": str(row.inviter_id)}
    if row.client_id:
        return {"kind": "client", "id": str(row.client_id)}
    return {"kind": "command", "id": None}


# The token of a mailed link: it names an invitation, and which of its mails it was in.


PURPOSE = "invitation link"
PAGE = "/invitation"
_FORMAT = SealedFormat("16sI")  # id and version


def make(ring: KeyRing, id_: UUID, version: int, expires: datetime) -> str:
    """The token of an invitation, valid until ``expires`` (whole seconds)."""
    return _FORMAT.seal(ring, id_.bytes, version, expires=int(expires.timestamp()))


def read(ctx: Context, token: str) -> tuple[UUID, int]:
    """The id and version that ``token`` names. Raises `InvalidInvitation`."""
    values = _FORMAT.unseal(ctx.services.keys[PURPOSE], token, clock.now())
    if values is None:
        raise InvalidInvitation
    return UUID(bytes=values[0]), values[1]


# The mail with an invitation.


def send_invitation(ctx: Context, row: Invitation) -> None:
    """Enqueue the link of an invitation."""
    recipient = Recipient(None, row.email)
    mail = outbox.NewMail("invitation", recipient, row.id, expires_at=row.expires_at)
    outbox.put(ctx, mail)


_LANGUAGE = (
    select(User.language)
    .join(LoginName, LoginName.user_id == User.id)
    .where(LoginName.key == bindparam("key"))
)
_TITLE = select(Group.title).where(Group.name == bindparam("name"))


def build(job: MailJob) -> MailContent | None:
    """The link, in the language of the user who has the address; None if it would not work.

    The link is made at the time of sending, and is that of the latest mail.
    """
    cfg = job.services.settings
    with Session(job.services.database.autocommit) as db:
        query = select(Invitation).where(
            Invitation.id == job.mail.about_id, *open_now(job.now, cfg)
        )
        row = db.scalars(query).one_or_none()
        if row is None:
            return None
        language = db.scalar(_LANGUAGE, {"key": row.key})
        title = db.scalar(_TITLE, {"name": row.group_name}) if row.group_name else None
    token = make(job.services.keys[PURPOSE], row.id, row.version, row.expires_at)
    return MailContent(
        job.mail.kind,
        link=own_link(job, PAGE, token),
        about=title or row.group_name,
        language=language,
    )


BUILDERS: dict[str, MailBuilder] = {"invitation": build}

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
    send_invitation(ctx, row)
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
