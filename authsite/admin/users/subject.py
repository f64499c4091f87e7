"""The user at whom an administrator acts."""

from uuid import UUID

from sqlalchemy import select

from authsite.admin.administrator import Administrator, reserved_groups, scopes_of
from authsite.admin.errors import Outranked, PermissionMissing, UnknownObject
from authsite.admin.rank import require_rank
from authsite.platform.context import Context
from authsite.platform.runtime.ids import as_id
from authsite.users.groups.reserved import OWNER
from authsite.users.models import User


def find(ctx: Context, text: str) -> User:
    """The user with this id. Raises `UnknownObject`."""
    id_ = as_id(text.lower())
    user = ctx.db.get(User, id_) if id_ else None
    if user is None:
        raise UnknownObject
    return user


def reach(ctx: Context, by: Administrator, text: str) -> User:
    """The user with this id, at whom ``by`` may act. Raises `UnknownObject` and `Outranked`."""
    found = find(ctx, text)
    require_rank(by, found)
    return found


def lock(ctx: Context, by: Administrator, user: User) -> User:
    """The present row of the user, locked until the transaction ends, at whom ``by`` may act.

    Raises `UnknownObject` for a user who is gone, `Outranked`, and `PermissionMissing` for an
    administrator who has lost a permission while the request waited for the lock.
    """
    found = ctx.db.scalar(
        select(User)
        .where(User.id == user.id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )
    if found is None:
        raise UnknownObject
    require_rank(by, found)
    _require_role(ctx, by)
    return found


def _require_role(ctx: Context, by: Administrator) -> None:
    """Raise `PermissionMissing` unless ``by`` still has the permissions that the request has.

    Their row is not locked: two administrators who act at each other would wait for one another.
    """
    if by.kind != "user":
        return
    present = scopes_of(reserved_groups(_labels(ctx, by.id)))
    if lost := by.scopes - present:
        raise PermissionMissing(min(lost))


def require_command_for_administrators(by: Administrator, user: User) -> None:
    """Raise `Outranked` at a member of a reserved group, unless ``by`` is a command."""
    if by.kind != "command" and reserved_groups(user.labels):
        raise Outranked


def require_person(by: Administrator, permission: str) -> None:
    """Raise `PermissionMissing` for a client: it never does this, whatever its scopes are."""
    if by.kind == "client":
        raise PermissionMissing(f"admin:{permission}")


def is_owner(ctx: Context, by: Administrator) -> bool:
    """Whether ``by`` is a command or a member of ``authsite:owner``."""
    if by.kind != "user":
        return by.kind == "command"
    return OWNER in reserved_groups(_labels(ctx, by.id))


def _labels(ctx: Context, user_id: UUID | None) -> str | None:
    return ctx.db.scalar(select(User.labels).where(User.id == user_id, User.disabled_at.is_(None)))
