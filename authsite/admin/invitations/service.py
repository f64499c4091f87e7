"""What an administrator does with invitations, on `authsite.invitations.service`."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import select

from authsite.admin import reasons
from authsite.admin.errors import PermissionMissing
from authsite.admin.guard import Administrator, administrator_for
from authsite.admin.lists import Page, after, cursor
from authsite.invitations import service
from authsite.invitations.conditions import CHOOSE_GROUP
from authsite.invitations.errors import UnknownInvitation
from authsite.invitations.models import Invitation
from authsite.platform.context import Context
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_id
from authsite.users.groups.labels import Group, is_reserved

MAX_GROUPS = 500  # in the choice of the console
_LIST = {"list": "invitations"}


def invite(
    ctx: Context, by: Administrator, email: str, group: str | None, reason: str | None = None
) -> Invitation:
    """Invite the owner of an address. A group needs the permission ``groups:write``.

    Raises `PermissionMissing`, and what `service.create` and `reasons.cause` raise.
    """
    require_permission(ctx, by, group)
    if service.field_errors(ctx.db, email, None) or reasons.errors(by, reason):
        raise ValidationFailed(details=field_errors(ctx, by, email, group, reason))
    return service.create(ctx, email, group, reasons.cause(by, reason)).invitation


def require_permission(ctx: Context, by: Administrator, group: str | None) -> None:
    """Raise `InvitationsClosed`, `ReservedName` or `PermissionMissing`, as `invite`."""
    service.require_invitable(ctx.settings, group)
    _require_group_permission(by, group)


def field_errors(
    ctx: Context, by: Administrator, email: str | None, group: str | None, reason: str | None
) -> Sequence[FieldError]:
    """What `invite` finds wrong with the fields, for a refused request. Raises as `invite`."""
    require_permission(ctx, by, group)
    wrong = service.field_errors(ctx.db, email, group)
    return [*wrong, *reasons.errors(by, reason)]


def resend(ctx: Context, by: Administrator, id_: str, reason: str | None = None) -> Invitation:
    """Mail an open invitation again, which prolongs it. To a group it needs ``groups:write``.

    Raises `PermissionMissing`, and what `service.resend` and `reasons.cause` raise.
    """
    if reasons.errors(by, reason):
        require_resendable(ctx, by, id_)
    row = service.resend(ctx, _id(id_), reasons.cause(by, reason))
    _require_group_permission(by, row.group_name)  # with it ends what the request has written
    return row


def require_resendable(ctx: Context, by: Administrator, id_: str) -> None:
    """Raise `InvitationsClosed`, `UnknownInvitation` or `PermissionMissing`, as `resend`."""
    service.require_invitable(ctx.settings, None)
    _require_group_permission(by, find(ctx, id_).group_name)


def revoke(ctx: Context, by: Administrator, id_: str, reason: str | None = None) -> None:
    """End an invitation. Raises `UnknownInvitation`, and what `reasons.cause` raises."""
    if reasons.errors(by, reason):
        require_revocable(ctx, id_)
    service.revoke(ctx, _id(id_), reasons.cause(by, reason))


def require_revocable(ctx: Context, id_: str) -> None:
    """Raise `UnknownInvitation`, as `revoke`."""
    if ctx.db.get(Invitation, _id(id_)) is None:
        raise UnknownInvitation


def find(ctx: Context, id_: str) -> Invitation:
    """An open invitation. Raises `UnknownInvitation`."""
    return service.find(ctx, _id(id_))


def some(ctx: Context, by: Administrator, limit: int, text: str | None) -> Page[Invitation]:
    """The open invitations behind the cursor ``text``, the newest first. Raises `InvalidCursor`."""
    key = after(ctx, by, _LIST, text)
    place = (datetime.fromisoformat(str(key[0])), UUID(str(key[1]))) if key else None
    rows = service.list_open(ctx, limit + 1, place)
    found = rows[:limit]
    if len(rows) <= limit:
        return Page(found, None)
    last = [found[-1].created_at.isoformat(), str(found[-1].id)]
    return Page(found, cursor(ctx, by, _LIST, last))


def groups_to_choose(ctx: Context, by: Administrator) -> Sequence[tuple[str, str]]:
    """Name and title of the groups to which ``by`` may invite, at most `MAX_GROUPS`."""
    if not by.may("groups:write"):
        return ()
    query = select(Group.name, Group.title).order_by(Group.name).limit(MAX_GROUPS)
    return [(name, title) for name, title in ctx.db.execute(query)]


def _require_group_permission(by: Administrator, group: str | None) -> None:
    if group and not by.may("groups:write"):
        raise PermissionMissing(CHOOSE_GROUP)


def _id(text: str) -> UUID:
    if (id_ := as_id(text.lower())) is None:
        raise UnknownInvitation
    return id_


# An invitation to a group gives what the group gives: it needs the proof that a membership needs.
#
# The owner of the address may be a user already, who becomes a member by accepting it.


def require_recent_for(request: Request, group: str | None, *, confirming: bool = False) -> None:
    """Ask for a proof of the last ten minutes before an invitation to ``group``.

    Raises what `administrator_for` raises. ``confirming``: see there. A reserved group, to which
    there are no invitations, is refused by the service.
    """
    if group and not is_reserved(group):
        administrator_for(request, "groups:write", recent=True, confirming=confirming)
