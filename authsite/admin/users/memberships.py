"""In which groups a user is, reserved ones too, as an administrator decides."""

from collections.abc import Callable, Collection

from authsite.admin import reasons
from authsite.admin.administrator import Administrator
from authsite.admin.rank import require_other, require_rank
from authsite.groups import administrators, members
from authsite.platform.audit.cause import Cause
from authsite.platform.context import Context
from authsite.users.groups.groups_of_user import existing_groups_of
from authsite.users.groups.owners import require_another
from authsite.users.groups.reserved import OWNER, is_reserved
from authsite.users.models import User

from . import mails, subject
from .errors import AccountChanged


def join(
    ctx: Context,
    by: Administrator,
    user: User,
    group: str,
    reason: str | None,
    account: str | None = None,
) -> bool:
    """Add the user to a group; whether the user was not in it.

    ``account``: as of `set_groups`. Raises `Outranked`, also for one's own groups and, for a
    client, at a reserved group, `UnknownObject`, `UnknownGroup`, `UnknownRole`, `NotConfirmed`,
    `TooManyGroups` and `AccountChanged`.
    """
    return _change(ctx, by, user, lambda present: present | {group}, reason, account)


def leave(ctx: Context, by: Administrator, user: User, group: str, reason: str | None) -> bool:
    """Remove the user from a group; whether the user was in it.

    The tokens that carry a scope of it alone end. Raises what `join` raises, and `LastOwner`.
    """
    return _change(ctx, by, user, lambda present: present - {group}, reason)


def set_groups(
    ctx: Context,
    by: Administrator,
    user: User,
    groups: Collection[str],
    reason: str | None,
    *,
    shown: Collection[str] | None = None,
    account: str | None = None,
) -> bool:
    """Make ``groups`` all those that the user is in; whether that changes anything.

    ``shown``: the groups that ``by`` has seen the user in. Only what differs from these changes: a
    group that another administrator has taken away since then does not come back. ``account``: the
    `account_shown` that ``by`` has seen; for a role it must still be that of the user, whose
    address another administrator may have changed.

    The user gets one notice. Raises what `join` and `leave` raise, and `AccountChanged`.
    """
    chosen = set(groups)
    if shown is None:
        return _change(ctx, by, user, lambda _present: chosen, reason, account)
    seen = set(shown)
    return _change(
        ctx, by, user, lambda present: present - (seen - chosen) | chosen - seen, reason, account
    )


def account_shown(user: User) -> str:
    """What a form carries of the account that it shows: its epoch and its address."""
    return f"{user.epoch} {user.email}"


def _change(
    ctx: Context,
    by: Administrator,
    user: User,
    choose: Callable[[set[str]], set[str]],
    reason: str | None,
    account: str | None = None,
) -> bool:
    """Make ``choose(present)`` the groups of the user.

    ``present`` are those of the locked user: a group that another transaction takes away before
    the lock does not come back.
    """
    require_other(by, user)
    require_rank(by, user)
    cause = reasons.cause(by, reason)
    if OWNER not in choose({OWNER}):
        require_another(ctx.db, user.id)  # in one order: first all owners, then the user
    found = subject.lock(ctx, by, user)
    before = set(existing_groups_of(ctx.db, found.id))
    groups = choose(before)
    lost, gained = sorted(before - groups), sorted(groups - before)
    if any(map(is_reserved, [*lost, *gained])):
        subject.require_person(by, "groups:write")
    if account not in (None, account_shown(found)) and any(map(is_reserved, gained)):
        raise AccountChanged
    for name in lost:
        _leave(ctx, found, name, cause)
    for name in gained:
        _join(ctx, found, name, cause)
    if not lost and not gained:
        return False
    mails.send(ctx, "groups_changed", found)
    return True


def _join(ctx: Context, user: User, name: str, cause: Cause) -> None:
    if is_reserved(name):
        administrators.grant(ctx, user, name, cause)
    else:
        members.add(ctx, name, user.id, cause)


def _leave(ctx: Context, user: User, name: str, cause: Cause) -> None:
    if is_reserved(name):
        administrators.revoke(ctx, user, name, cause)
    else:
        members.remove(ctx, name, user.id, cause)
