"""What an administrator does with invitations, on `authsite.invitations.service`."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import select

from authsite.admin import reasons
from authsite.admin.administrator import Administrator
from authsite.admin.errors import PermissionMissing
from authsite.admin.lists import Page, after, cursor
from authsite.invitations import service
from authsite.invitations.conditions import CHOOSE_GROUP
from authsite.invitations.errors import UnknownInvitation
from authsite.invitations.models import Invitation
from authsite.platform.context import Context
from authsite.platform.runtime.ids import as_id
from authsite.users.groups.models import Group
from authsite.users.groups.reserved import is_reserved

MAX_GROUPS = 500  # in the choice of the console
_LIST = {"list": "invitations"}


def invite(
    ctx: Context, by: Administrator, email: str, group: str | None, reason: str | None = None
) -> Invitation:
    """Invite the owner of an address. A group needs the permission ``groups:write``.

    Raises `PermissionMissing`, and what `service.create` and `reasons.cause` raise.
    """
    cause = reasons.cause(by, reason)
    if group and not is_reserved(group) and not by.may("groups:write"):
        raise PermissionMissing(CHOOSE_GROUP)
    return service.create(ctx, email, group, cause).invitation


def resend(ctx: Context, by: Administrator, id_: str, reason: str | None = None) -> Invitation:
    """Mail an open invitation again, which prolongs it. To a group it needs ``groups:write``.

    Raises `PermissionMissing`, and what `service.resend` and `reasons.cause` raise.
    """
    row = service.resend(ctx, _id(id_), reasons.cause(by, reason))
    if row.group_name and not by.may("groups:write"):
        raise PermissionMissing(CHOOSE_GROUP)  # with it ends what the request has written
    return row


def revoke(ctx: Context, by: Administrator, id_: str, reason: str | None = None) -> None:
    """End an invitation. Raises `UnknownInvitation`, and what `reasons.cause` raises."""
    service.revoke(ctx, _id(id_), reasons.cause(by, reason))


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


def _id(text: str) -> UUID:
    if (id_ := as_id(text.lower())) is None:
        raise UnknownInvitation
    return id_
