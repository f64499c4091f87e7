"""At whom an administrator may act: not at a user who may do more, and not at their own groups."""

from authsite.platform.settings.values import ADMIN_PREFIX
from authsite.users.models import User

from .administrator import Administrator, reserved_groups, scopes_of
from .errors import Outranked


def require_rank(by: Administrator, user: User) -> None:
    """Raise `Outranked` unless ``by`` may do more than read at ``user``.

    The user must have no permission that ``by`` lacks. A client does nothing to an administrator.
    """
    groups = reserved_groups(user.labels)
    if not groups or by.kind == "command":
        return
    permissions = {each.removeprefix(ADMIN_PREFIX) for each in scopes_of(groups)}
    if by.kind == "client" or not all(map(by.may, permissions)):
        raise Outranked


def require_other(by: Administrator, user: User) -> None:
    """Raise `Outranked` if ``by`` is ``user``: no one changes their own groups."""
    if by.kind == "user" and by.id == user.id:
        raise Outranked
