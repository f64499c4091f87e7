"""Write the groups and memberships of another authsite, by the rules of `authsite group`.

No import makes an administrator: memberships of the reserved groups are reported and left out.
"""

from collections.abc import Callable, Mapping, Sequence

from authsite.groups import members, service
from authsite.groups.lookup import find
from authsite.platform.audit.cause import Cause
from authsite.platform.context import Context
from authsite.users.groups.models import Group, GroupMember
from authsite.users.groups.reserved import is_reserved
from authsite.users.models import User

from .before import GROUPS, Before, take_each
from .report import Outcome, Result
from .row_values import Fault, GroupDraft, MembershipDraft
from .rows import Row

_CAUSE = Cause("command", reason="authsite import")


def write_groups(
    ctx: Context,
    before: Before,
    read: Callable[[Mapping[str, object]], GroupDraft],
    rows: Sequence[Row],
) -> list[Outcome]:
    """Write the groups of ``rows`` in the transaction of ``ctx``; what became of every row."""

    def take(draft: GroupDraft) -> Result:
        present = ctx.db.get(Group, draft.name)
        if present:
            if draft.created_at != present.created_at:
                raise Fault("name", f"another group has this name: {draft.name}")
            return "present"
        given = service.GroupValues(draft.title, draft.scopes, draft.require_acr)
        with ctx.db.begin_nested() as savepoint:
            group = service.create(ctx, draft.name, given, _CAUSE)
            group.created_at = draft.created_at or group.created_at
            group.updated_at = draft.updated_at or group.created_at
            if before.seen:
                savepoint.rollback()
        before.groups.add(draft.name)
        return "imported"

    return take_each(
        before, GROUPS, rows, read, take, column="name", id_of=lambda draft: draft.name
    )


def write_memberships(
    ctx: Context,
    before: Before,
    system: str,
    read: Callable[[Mapping[str, object]], MembershipDraft],
    rows: Sequence[Row],
) -> list[Outcome]:
    """Write the memberships of ``rows``, as `write_groups`; ``system``: whose ids users have."""

    def take(draft: MembershipDraft) -> Result:
        name = draft.group_name
        if is_reserved(name):
            raise Fault(
                "group_name",
                "is a group of administrators, which no import makes; give the role with "
                f"`authsite admin grant`: {name}",
            )
        user_id = before.users(ctx, system, [draft.user_id]).owner(draft.user_id).id
        if before.refused(GROUPS, name):
            raise Fault("group_name", f"is of a group that was not imported: {name}")
        if ctx.db.get(GroupMember, (user_id, name)):
            return "present"
        if before.seen and name in before.groups:
            return "imported"
        with ctx.db.begin_nested() as savepoint:
            if before.seen and not ctx.db.get(User, user_id):
                find(ctx.db, name)
            elif members.add(ctx, name, user_id, _CAUSE) and draft.created_at:
                ctx.db.get_one(GroupMember, (user_id, name)).created_at = draft.created_at
            if before.seen:
                savepoint.rollback()
        return "imported"

    return take_each(before, "memberships", rows, read, take, column="user_id")
