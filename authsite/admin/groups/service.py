"""What administrators do with groups and their members.

A change that concerns every member is committed first, and then goes on in batches, each of which
is committed (`authsite.groups.applying`), so that a group may have any number of members. Of a
large group a background task goes on.
"""

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import exists, select
from sqlalchemy.orm import Session, aliased

from authsite.admin import reasons
from authsite.admin.administrator import Administrator
from authsite.admin.errors import Outranked
from authsite.admin.rank import require_other, require_rank
from authsite.admin.users import actions, memberships, subject
from authsite.groups import applying, lookup
from authsite.groups import service as groups
from authsite.groups.service import GroupValues
from authsite.platform.context import Context
from authsite.platform.db.transaction import commit_session
from authsite.platform.http.bodies import require_valid
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.i18n import _
from authsite.users import service as users
from authsite.users.groups.models import GroupMember
from authsite.users.groups.reserved import RESERVED, is_reserved
from authsite.users.models import User

from . import listing
from .errors import GroupNamed

_UNKNOWN = _("There is no user with this address, login name or id.")
_UNCONFIRMED = _(
    "The account with this address has not confirmed it, so it may be another person's. Invite the"
    " person to the group, or look at the account and enter its id."
)


def create(
    ctx: Context, by: Administrator, name: str, given: GroupValues, reason: str | None = None
) -> None:
    """Create a group without members. Raises what `authsite.groups.service.create` raises."""
    if wrong := _creation_errors(ctx, by, name, given, reason):
        raise ValidationFailed(details=[*wrong, *groups.taken_errors(ctx.db, name)])
    groups.create(ctx, name, given, reasons.cause(by, reason))


def creation_errors(
    ctx: Context, by: Administrator, name: str | None, given: GroupValues, reason: str | None
) -> Sequence[FieldError]:
    """What is wrong with the fields that are there, for a refused request. Raises `ReservedName`.

    A name that is taken is among them; where nothing else is wrong, `create` has its own error.
    """
    wrong = _creation_errors(ctx, by, name, given, reason)
    return [*wrong, *groups.taken_errors(ctx.db, name)]


def _creation_errors(
    ctx: Context, by: Administrator, name: str | None, given: GroupValues, reason: str | None
) -> Sequence[FieldError]:
    wrong = groups.new_value_errors(ctx.settings, name, given)
    return [*wrong, *reasons.errors(by, reason)]


def change(
    ctx: Context, by: Administrator, name: str, given: GroupValues, reason: str | None = None
) -> None:
    """Change the given values, and end the tokens whose scope the members have lost.

    Raises what `authsite.groups.service.change` raises, and `Outranked` for a client that would
    change what an administrator may do: a member of this group and of a reserved one.
    """
    sent = [field for field, value in given._asdict().items() if value is not None]
    require_valid(change_errors(ctx, by, name, given, reason, sent))
    _apply(ctx, groups.change(ctx, name, given, reasons.cause(by, reason)))


def change_errors(
    ctx: Context,
    by: Administrator,
    name: str,
    given: GroupValues,
    reason: str | None,
    sent: Collection[str],
) -> Sequence[FieldError]:
    """What `change` finds wrong with the values and the reason.

    ``sent``: the names of the values that are to change, also of those with a known error, which
    ``given`` has not. Raises `UnknownGroup`, `ReservedName` and `Outranked`.
    """
    group = lookup.read(ctx.db, name)
    if not {"scopes", "require_acr"}.isdisjoint(sent):
        _require_no_administrator(ctx, by, name)
    wrong = groups.value_errors(ctx.settings, given, group.scopes.split())
    return [*wrong, *reasons.errors(by, reason)]


def delete(
    ctx: Context,
    by: Administrator,
    name: str,
    routes: Sequence[str],
    reason: str | None = None,
) -> None:
    """Delete a group, whose members leave it.

    ``routes``: the names of the routes that are for its members alone. Raises `GroupNamed` if there
    is one, what `authsite.groups.service.delete` raises, and `Outranked` as `change`.
    """
    require_deletable(ctx, by, name)
    cause = reasons.cause(by, reason)
    if routes:
        raise GroupNamed(name, routes)
    _apply(ctx, groups.delete(ctx, name, cause))


def require_deletable(ctx: Context, by: Administrator, name: str) -> None:
    """Raise `UnknownGroup`, `ReservedName` or `Outranked`, as `delete`."""
    groups.require_deletable(ctx.db, name)
    _require_no_administrator(ctx, by, name)


def add(
    ctx: Context,
    by: Administrator,
    name: str,
    user_id: str,
    reason: str | None = None,
    *,
    account: str | None = None,
) -> bool:
    """Add a user to a group, also to a reserved one; whether the user was not in it.

    ``account``: the account with the address that ``by`` has entered, as `memberships.set_groups`
    compares it. Raises `UnknownGroup`, `TooManyAttempts`, and what `memberships.join` raises.
    """
    actions.count_notice(ctx, by, user_id)
    user = reach(ctx, by, name, user_id)
    return memberships.join(ctx, by, user, name, reason, account)


def remove(
    ctx: Context, by: Administrator, name: str, user_id: str, reason: str | None = None
) -> bool:
    """Remove a user from a group, also from a reserved one; whether the user was in it.

    Raises `UnknownGroup`, `TooManyAttempts`, and what `memberships.leave` raises.
    """
    actions.count_notice(ctx, by, user_id)
    user = reach(ctx, by, name, user_id)
    return memberships.leave(ctx, by, user, name, reason)


def reach(ctx: Context, by: Administrator, name: str, user_id: str) -> User:
    """The user whose membership is to change. No client decides who is an administrator.

    Raises `UnknownGroup`, `PermissionMissing`, `UnknownObject` and `Outranked`.
    """
    listing.require(ctx, name)
    if is_reserved(name):
        subject.require_person(by, "groups:write")
    user = subject.find(ctx, user_id)
    require_other(by, user)
    require_rank(by, user)
    return user


def add_named(
    ctx: Context, by: Administrator, name: str, text: str, reason: str | None = None
) -> bool:
    """`add` for the user with this address, login name or id.

    Raises `ValidationFailed`, too, where there is none, or the address is not confirmed and so may
    be another person's.
    """
    user, _wrong = _named(ctx, text)
    if user is None:
        raise ValidationFailed(details=addition_errors(ctx, by, name, text, reason))
    account = memberships.account_shown(user)  # with another address it may be another person
    return add(ctx, by, name, str(user.id), reason, account=account)


def addition_errors(
    ctx: Context, by: Administrator, name: str, text: str | None, reason: str | None
) -> Sequence[FieldError]:
    """What `add_named` finds wrong with the fields. Raises as `reach`."""
    user, wrong = _named(ctx, text) if text else (None, ())
    if user is None:
        listing.require(ctx, name)
    else:
        reach(ctx, by, name, str(user.id))
    return [*wrong, *reasons.errors(by, reason)]


def _named(ctx: Context, text: str) -> tuple[User | None, Sequence[FieldError]]:
    with Session(ctx.database.autocommit) as reading:  # what is counted then comes before a lock
        user = users.find(reading, text)
    if user is None:
        return None, [FieldError("unknown", "user", _UNKNOWN)]
    if user.email_verified_at is None and text.lower() != str(user.id):
        return None, [FieldError("unconfirmed", "user", _UNCONFIRMED)]
    return user, ()


def _apply(ctx: Context, change_id: UUID | None) -> None:
    """Apply a change to all members, unless the background task does."""
    if change_id is None or applying.is_left_to_task(ctx, change_id):
        return
    more = True
    while more:
        commit_session(ctx.db)
        more = applying.step(ctx, change_id)


def _require_no_administrator(ctx: Context, by: Administrator, name: str) -> None:
    """Raise `Outranked` for a client if a member of the group is an administrator."""
    if by.kind != "client":
        return
    other = aliased(GroupMember)
    reserved = exists().where(
        other.user_id == GroupMember.user_id, other.group_name.in_(list(RESERVED))
    )
    members = select(GroupMember.user_id).where(GroupMember.group_name == name, reserved)
    if ctx.db.scalar(members.limit(1)):
        raise Outranked
