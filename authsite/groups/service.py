"""Create, change, delete and list groups; `authsite.groups.applying` goes through the members."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from authsite.oauth.clients import groups as client_groups
from authsite.platform.audit.events import Event
from authsite.platform.audit.models import Detail
from authsite.platform.audit.service import Cause, record
from authsite.platform.context import Context
from authsite.platform.http.bodies import errors_of
from authsite.platform.http.errors import ApiError, FieldError
from authsite.platform.i18n import _
from authsite.platform.runtime import clock
from authsite.platform.runtime.lines import NotOneLine, one_line
from authsite.platform.settings import Settings
from authsite.platform.settings.values import is_admin
from authsite.sign_in.fields import not_one_line
from authsite.users import former
from authsite.users.account import LEVELS
from authsite.users.groups.labels import RESERVED, Group, GroupChange, GroupMember, is_reserved
from authsite.users.models import User

from . import applying
from .applying import Effect
from .errors import GroupEnding, GroupInUse, GroupTaken, InvalidGroup, ReservedName, UnknownGroup
from .lookup import find, is_name, read

MAX_TITLE, MAX_SCOPE = 100, 1024  # characters: the size of the columns
_WRONG_NAME = FieldError(
    "invalid", "name", _("use 1 to 32 of the characters a-z, 0-9, colon, _ and -")
)


class GroupValues(NamedTuple):
    """New values of a group; None leaves a value as it is.

    An empty ``require_acr`` removes the level.
    """

    title: str | None = None
    scopes: str | None = None
    require_acr: str | None = None


class ShownGroup(NamedTuple):
    """A group, reserved or not. A reserved one has no times."""

    name: str
    title: str
    require_acr: str | None
    scopes: Sequence[str]
    member_count: int
    created_at: str | None = None
    updated_at: str | None = None
    pending_count: int = 0
    """How many members the last changes have not come to yet."""


def create(ctx: Context, name: str, given: GroupValues, cause: Cause) -> Group:
    """Create a group without members.

    Raises `InvalidGroup`, `ReservedName`, `GroupTaken` and `GroupEnding`.
    """
    if wrong := new_value_errors(ctx.settings, name, given):
        raise InvalidGroup(*wrong)
    now = clock.now()
    group = Group(
        name=name,
        title=title_of(given.title or ""),
        scopes=_scopes(ctx.settings, given.scopes or ""),
        require_acr=_level(given.require_acr or ""),
        created_at=now,
        updated_at=now,
    )
    try:
        with ctx.db.begin_nested():
            ctx.db.add(group)
            ctx.db.flush()
    except IntegrityError:
        raise GroupTaken(name) from None
    if applying.deletion_of(ctx.db, name):
        raise GroupEnding(name)
    record(ctx, Event.GROUP_CREATED, details=_details(group, cause))
    return group


def change(ctx: Context, name: str, given: GroupValues, cause: Cause) -> UUID | None:
    """Change the given values. Returns the id of what is to be applied to the members, if anything.

    Of a change of nothing there is no event. When this is committed, `applying.step` goes through
    the members. Who was stopped in between can do the same again: it concerns all scopes that
    members may have lost, and the level, if they are given. Raises `UnknownGroup`, `ReservedName`
    and `InvalidGroup`.
    """
    group = find(ctx.db, name, alone=True)
    before = group.title, group.scopes, group.require_acr
    bound = set(group.scopes.split())
    if wrong := value_errors(ctx.settings, given, bound):
        raise InvalidGroup(*wrong)
    if given.title is not None:
        group.title = title_of(given.title)
    if given.scopes is not None:
        group.scopes = _scopes(ctx.settings, given.scopes, bound)
    if given.require_acr is not None:
        group.require_acr = _level(given.require_acr)
    changed = before != (group.title, group.scopes, group.require_acr)
    if changed:
        group.updated_at = clock.now()
        ctx.db.flush()
    lost: set[str] = set()
    if given.scopes is not None:
        lost = (bound | ctx.settings.scopes.for_groups) - set(group.scopes.split())
    if given.require_acr is not None:
        lost |= set(group.scopes.split())
    effect = Effect(frozenset(lost), relabel=given.require_acr is not None)
    begun = applying.begin(ctx, name, effect, cause)
    if changed:
        record(ctx, Event.GROUP_CHANGED, details=_details(group, cause, **_number(begun)))
    return begun.id if begun else None


def new_value_errors(cfg: Settings, name: str | None, given: GroupValues) -> Sequence[FieldError]:
    """What `create` finds wrong with the values that are there, save that the name is taken.

    Raises `ReservedName`.
    """
    if name is None:
        return value_errors(cfg, given)
    if is_reserved(name):
        raise ReservedName(name)
    of_name = () if is_name(name) else [_WRONG_NAME]
    return [*of_name, *value_errors(cfg, given)]


def taken_errors(db: Session, name: str | None) -> Sequence[FieldError]:
    """That there is a group of this name already, for a request that is refused anyway."""
    if name is None or not is_name(name):
        return ()
    if db.get(Group, name):
        error: ApiError = GroupTaken(name)
    elif applying.deletion_of(db, name):
        error = GroupEnding(name)
    else:
        return ()
    return [FieldError("taken", "name", error.message)]


def value_errors(
    cfg: Settings, given: GroupValues, present: Collection[str] = ()
) -> Sequence[FieldError]:
    """What `change` finds wrong with the values that are there; ``present``: the scopes by now."""
    checks = {
        "title": title_of,
        "scopes": lambda text: _scopes(cfg, text, present),
        "require_acr": _level,
    }
    texts = {name: getattr(given, name) for name in checks}
    return [
        error
        for name, text in texts.items()
        if text is not None
        for error in errors_of(partial(checks[name], text))
    ]


def require_deletable(db: Session, name: str) -> None:
    """Raise what `delete` raises for a name of no group, or of a reserved one."""
    if not (is_name(name) and applying.deletion_of(db, name)):
        read(db, name)


def delete(ctx: Context, name: str, cause: Cause) -> UUID | None:
    """Delete a group, whose members leave it by `applying.step`.

    From here on no token gets its scopes. Returns the id of what is to be applied, or None for a
    group without members. Who was stopped in between can do the same again. Raises `UnknownGroup`,
    `ReservedName`, and `GroupInUse` while a client requires the group.
    """
    try:
        group = find(ctx.db, name, alone=True)  # from here on it gets no new member
    except UnknownGroup:
        if is_name(name) and (already := applying.deletion_of(ctx.db, name)):
            return already
        raise
    if clients := client_groups.clients_of(ctx.db, name):
        raise GroupInUse(name, clients)
    effect = Effect(frozenset(group.scopes.split()), relabel=True)
    begun = applying.begin(ctx, name, effect, cause, deletes=True)
    ctx.db.delete(group)
    ctx.db.flush()
    record(ctx, Event.GROUP_DELETED, details=cause.details(group=name, **_number(begun)))
    return begun.id if begun else None


def list_all(db: Session, admin_acr: str) -> list[ShownGroup]:
    """All groups: the reserved ones, whose level is ``admin_acr``, then the others by name."""
    number = func.count().label("number")
    counts = select(GroupMember.group_name, number).group_by(GroupMember.group_name)
    numbers = {row.group_name: row.number for row in db.execute(counts)}
    reserved = [
        ShownGroup(name, group.title, admin_acr, group.scopes, numbers.get(name, 0))
        for name, group in RESERVED.items()
    ]
    others, pending = db.scalars(select(Group).order_by(Group.name)), applying.pending(db)
    shown = (of_row(each, numbers.get(each.name, 0), pending) for each in others)
    return [*reserved, *shown]


def show(db: Session, name: str, admin_acr: str) -> ShownGroup:
    """One group, reserved or not. Raises `UnknownGroup`. ``admin_acr``: as of `list_all`."""
    number = db.scalar(select(func.count()).where(GroupMember.group_name == name)) or 0
    if name in RESERVED:
        return ShownGroup(name, RESERVED[name].title, admin_acr, RESERVED[name].scopes, number)
    group = db.get(Group, name)
    if group is None:
        raise UnknownGroup(name)
    return of_row(group, number, applying.pending(db))


def of_row(group: Group, members: int, pending: Mapping[str, int]) -> ShownGroup:
    """A group that is not reserved. ``pending``: what `applying.pending` returns."""
    return ShownGroup(
        group.name,
        group.title,
        group.require_acr,
        group.scopes.split(),
        members,
        clock.rfc3339(group.created_at),
        clock.rfc3339(group.updated_at),
        pending.get(group.name, 0),
    )


def title_of(text: str) -> str:
    """A title as it is stored. Raises `InvalidGroup`."""
    try:
        title = one_line(text)
    except NotOneLine as error:
        raise _invalid("title", not_one_line(error)) from None
    if not title or len(title) > MAX_TITLE:
        message = _(
            "give one line of 1 to ${number} characters", mapping={"number": str(MAX_TITLE)}
        )
        raise _invalid("title", message)
    return title


def _scopes(cfg: Settings, text: str, present: Collection[str] = ()) -> str:
    """The scopes that a group binds; those that it binds at ``present`` may stay."""
    scopes = list(dict.fromkeys(text.split()))
    if admin := [each for each in scopes if is_admin(each)]:
        raise _invalid(
            "scopes",
            _(
                "${scopes}: only the reserved groups of administrators have this; leave it out,"
                " and use `authsite admin grant` to give a user an administrative role",
                mapping={"scopes": " ".join(admin)},
            ),
        )
    if ordinary := [each for each in scopes if each not in cfg.scopes.for_groups.union(present)]:
        raise _invalid(
            "scopes",
            _(
                "${scopes}: a group can bind only what the setting scopes marks with [groups];"
                " add the mark there first",
                mapping={"scopes": " ".join(ordinary)},
            ),
        )
    joined = " ".join(scopes)
    if len(joined) > MAX_SCOPE:
        message = _("give at most ${number} characters", mapping={"number": str(MAX_SCOPE)})
        raise _invalid("scopes", message)
    return joined


def _level(text: str) -> str | None:
    if text and text not in LEVELS:
        message = _(
            "give one of ${levels}, or nothing for none", mapping={"levels": ", ".join(LEVELS)}
        )
        raise _invalid("require_acr", message)
    return text or None


def _details(group: Group, cause: Cause, **more: str) -> dict[str, Detail]:
    level = {"require_acr": group.require_acr} if group.require_acr else {}
    return cause.details(group=group.name, scopes=group.scopes, **level, **more)


def _number(begun: GroupChange | None) -> dict[str, str]:
    return applying.number_of(begun) if begun else {}


def _invalid(field: str, message: str) -> InvalidGroup:
    return InvalidGroup(FieldError("invalid", field, message))


# What ends when a user becomes an administrator, or one who may do more.
#
# Who may act at a user is decided when it is asked for (`authsite.admin.guard`). What takes place
# later, such as a change of address with a mailed link, was asked for at a user of a lower rank.


def end_deferred(ctx: Context, user_id: UUID, cause: Cause) -> None:
    """End what would take place later at the account of a user, whose row is locked.

    The pending change of address, the links that take earlier changes back, the reset links, and a
    deletion that was to come: the user stays disabled then. The user's sign-ins stay.
    """
    if former.end(ctx.db, user_id):
        record(ctx, Event.EMAIL_CHANGE_CANCELED, user_id=user_id, details=cause.details())
    former.end_all(ctx.db, user_id)
    ctx.db.execute(
        update(User)
        .where(User.id == user_id)
        .values(recovery_version=User.recovery_version + 1, delete_at=None)
        .execution_options(synchronize_session="fetch")
    )
