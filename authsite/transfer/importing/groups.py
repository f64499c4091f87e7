"""Write the groups and memberships of another authsite, by the rules of `authsite group`.

No import makes an administrator: memberships of the reserved groups are reported and left out.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence

from authsite.groups import members, service
from authsite.groups.lookup import find
from authsite.platform.audit.cause import Cause
from authsite.platform.context import Context
from authsite.platform.http.errors import ApiError
from authsite.users.groups.models import Group, GroupMember
from authsite.users.groups.reserved import is_reserved
from authsite.users.models import User

from .before import Before
from .report import PRESENT, Outcome, Result, refused
from .row_values import Fault, GroupDraft, MembershipDraft, reported_id
from .rows import Row

_CAUSE = Cause("command", reason="authsite import")


def write_groups(
    ctx: Context,
    before: Before,
    read: Callable[[Mapping[str, object]], GroupDraft],
    rows: Sequence[Row],
) -> list[Outcome]:
    """Write the groups of ``rows`` in the transaction of ``ctx``; what became of every row."""

    def take(row: Row) -> Result:
        draft = read(row.values)
        present = ctx.db.get(Group, draft.name)
        if present:
            if draft.created_at not in (None, present.created_at):
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

    return [_outcome(row, "name", take) for row in rows]


def write_memberships(
    ctx: Context,
    before: Before,
    read: Callable[[Mapping[str, object]], MembershipDraft],
    rows: Sequence[Row],
) -> list[Outcome]:
    """Write the memberships of ``rows`` in the transaction of ``ctx``, as `write_groups`."""

    def take(row: Row) -> Result:
        draft = read(row.values)
        name, user_id = draft.group_name, draft.user_id
        if is_reserved(name):
            raise Fault(
                "group_name",
                "is a group of administrators, which no import makes; give the role with "
                f"`authsite admin grant`: {name}",
            )
        if str(user_id) in before.refused_users or not _has_user(ctx, before, user_id):
            raise Fault("user_id", f"is of a user who was not imported: {user_id}")
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

    return [_outcome(row, "user_id", take) for row in rows]


def _has_user(ctx: Context, before: Before, user_id: uuid.UUID) -> bool:
    if before.seen and before.seen.users([user_id]):
        return True
    return ctx.db.get(User, user_id) is not None


def _outcome(row: Row, id_: str, take: Callable[[Row], Result]) -> Outcome:
    named = row.values.get(id_)
    source_id = named if isinstance(named, str) else reported_id(row.values)
    try:
        if row.fault:
            raise Fault(None, row.fault)
        result = take(row)
    except ApiError as error:
        detail = next(iter(error.details), None)
        fault = Fault(detail.field, detail.message) if detail else Fault(None, str(error))
        return refused(row, source_id, fault)
    except (Fault, ValueError) as error:
        return refused(row, source_id, error)
    return Outcome(
        row.number, source_id, None, result, None, PRESENT if result == "present" else None
    )
