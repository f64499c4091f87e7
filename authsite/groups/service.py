"""Create, change, delete and list groups.

The steps that concern every member of a group come in batches, each a separate transaction, so
that a group may have any number of members.
"""

import uuid
from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from authsite.context import Context
from authsite.oauth import client_groups, scope_loss
from authsite.platform.audit.cause import Cause
from authsite.platform.audit.events import Event
from authsite.platform.audit.models import Detail
from authsite.platform.audit.service import About, record, record_all
from authsite.platform.i18n import _
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings
from authsite.platform.settings.values import is_admin
from authsite.users.groups import labels
from authsite.users.groups.models import Group, GroupMember
from authsite.users.groups.reserved import RESERVED, is_reserved
from authsite.users.levels import LEVELS
from authsite.users.locks import lock_all

from . import members
from .errors import GroupInUse, GroupTaken, InvalidGroup, ReservedName, UnknownGroup
from .lookup import find, is_name

MAX_TITLE, MAX_SCOPE = 100, 1024  # characters: the size of the columns
BATCH = 500  # members


class GroupValues(NamedTuple):
    """New values of a group; None leaves a value as it is.

    An empty ``require_acr`` removes the level.
    """

    title: str | None = None
    scopes: str | None = None
    require_acr: str | None = None


class Effect(NamedTuple):
    """What a change of a group means for its members; `update_members` goes through them.

    ``lost``: the scopes that members may have lost. ``relabel``: their labels must be written.
    """

    lost: frozenset[str] = frozenset()
    relabel: bool = False


class ShownGroup(NamedTuple):
    """A group, reserved or not. A reserved one has no times."""

    name: str
    title: str
    require_acr: str | None
    scopes: Sequence[str]
    member_count: int
    created_at: str | None = None
    updated_at: str | None = None


def create(ctx: Context, name: str, given: GroupValues, cause: Cause) -> Group:
    """Create a group without members.

    Raises `InvalidGroup`, `ReservedName` and `GroupTaken`.
    """
    if not is_name(name):
        raise InvalidGroup("name", _("use 1 to 32 of the characters a-z, 0-9, colon, _ and -"))
    if is_reserved(name):
        raise ReservedName(name)
    now = clock.now()
    group = Group(
        name=name,
        title=_title(given.title or ""),
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
    record(ctx, Event.GROUP_CREATED, details=_details(group, cause))
    return group


def change(ctx: Context, name: str, given: GroupValues, cause: Cause) -> Effect | None:
    """Change the given values. Returns what it means for the members, or None for nothing.

    Of a change of nothing there is no event. When this is committed, `update_members` goes through
    the members. Who was stopped in between can do the same again: the effect is that of all scopes
    that members may have lost, and of the level, if they are given. Raises `UnknownGroup`,
    `ReservedName` and `InvalidGroup`.
    """
    group = find(ctx.db, name, alone=True)
    before = group.title, group.scopes, group.require_acr
    bound = set(group.scopes.split())
    if given.title is not None:
        group.title = _title(given.title)
    if given.scopes is not None:
        group.scopes = _scopes(ctx.settings, given.scopes, bound)
    if given.require_acr is not None:
        group.require_acr = _level(given.require_acr)
    if before != (group.title, group.scopes, group.require_acr):
        group.updated_at = clock.now()
        ctx.db.flush()
        record(ctx, Event.GROUP_CHANGED, details=_details(group, cause))
    lost: set[str] = set()
    if given.scopes is not None:
        lost = (bound | ctx.settings.scopes.for_groups) - set(group.scopes.split())
    if given.require_acr is not None:
        lost |= set(group.scopes.split())
    relabel = given.require_acr is not None
    return Effect(frozenset(lost), relabel) if lost or relabel else None


def update_members(
    ctx: Context, name: str, effect: Effect, after: uuid.UUID | None = None
) -> uuid.UUID | None:
    """Write the labels of some members, and end their tokens that carry a scope they have lost.

    Tokens stay where another group gives the scope. A batch has the members after the id ``after``.
    Returns the id of the last one, or None if there are no more. Call it outside of a transaction
    that has changed the group, each batch in a separate one.
    """
    query = select(GroupMember.user_id).where(GroupMember.group_name == name)
    if after is not None:
        query = query.where(GroupMember.user_id > after)
    found = ctx.db.scalars(query.order_by(GroupMember.user_id).limit(BATCH)).all()
    if effect.relabel and found:
        lock_all(ctx.db, found)
        labels.write(ctx.db, found)
    scope_loss.end_lost(ctx, found, effect.lost)
    return found[-1] if len(found) == BATCH else None


def remove_some(ctx: Context, name: str, cause: Cause) -> bool:
    """Remove a batch of the members of a group that is to be deleted.

    Returns whether there may be more.

    Raises `UnknownGroup`, `ReservedName` and `GroupInUse`.
    """
    scopes = find(ctx.db, name).scopes
    if clients := client_groups.clients_of(ctx.db, name):
        raise GroupInUse(name, clients)
    query = select(GroupMember.user_id).where(GroupMember.group_name == name)
    found = ctx.db.scalars(query.order_by(GroupMember.user_id).limit(BATCH)).all()
    left = members.leave_all(ctx, name, found)
    scope_loss.end_lost(ctx, left, set(scopes.split()))
    causes: list[About] = [
        {"user_id": user_id, "details": cause.details(group=name)} for user_id in left
    ]
    record_all(ctx, Event.GROUP_MEMBER_REMOVED, causes)
    return len(found) == BATCH


def delete(ctx: Context, name: str, cause: Cause) -> None:
    """Delete a group with its members. Call `remove_some` first, so that few are left.

    Raises `UnknownGroup`, `ReservedName`, and `GroupInUse` while a client requires the group.
    """
    group = find(ctx.db, name, alone=True)  # from here on it gets no new member
    while remove_some(ctx, name, cause):
        pass
    ctx.db.delete(group)
    ctx.db.flush()
    record(ctx, Event.GROUP_DELETED, details=cause.details(group=name))


def list_all(db: Session, admin_acr: str) -> list[ShownGroup]:
    """All groups: the reserved ones, whose level is ``admin_acr``, then the others by name."""
    number = func.count().label("number")
    counts = select(GroupMember.group_name, number).group_by(GroupMember.group_name)
    numbers = {row.group_name: row.number for row in db.execute(counts)}
    reserved = [
        ShownGroup(name, group.title, admin_acr, group.scopes, numbers.get(name, 0))
        for name, group in RESERVED.items()
    ]
    others = db.scalars(select(Group).order_by(Group.name))
    return [*reserved, *(_shown(group, numbers.get(group.name, 0)) for group in others)]


def show(db: Session, name: str, admin_acr: str) -> ShownGroup:
    """One group, reserved or not. Raises `UnknownGroup`. ``admin_acr``: as of `list_all`."""
    number = db.scalar(select(func.count()).where(GroupMember.group_name == name)) or 0
    if name in RESERVED:
        return ShownGroup(name, RESERVED[name].title, admin_acr, RESERVED[name].scopes, number)
    group = db.get(Group, name)
    if group is None:
        raise UnknownGroup(name)
    return _shown(group, number)


def _shown(group: Group, members_: int) -> ShownGroup:
    return ShownGroup(
        group.name,
        group.title,
        group.require_acr,
        group.scopes.split(),
        members_,
        clock.rfc3339(group.created_at),
        clock.rfc3339(group.updated_at),
    )


def _title(text: str) -> str:
    title = text.strip()
    if not title or not title.isprintable() or len(title) > MAX_TITLE:
        message = _(
            "give one line of 1 to ${number} characters", mapping={"number": str(MAX_TITLE)}
        )
        raise InvalidGroup("title", message)
    return title


def _scopes(cfg: Settings, text: str, present: Collection[str] = ()) -> str:
    """The scopes that a group binds; those that it binds at ``present`` may stay."""
    scopes = list(dict.fromkeys(text.split()))
    if admin := [each for each in scopes if is_admin(each)]:
        raise InvalidGroup(
            "scopes",
            _(
                "${scopes}: only the reserved groups of administrators have this; leave it out,"
                " and use `authsite admin grant` to give a user an administrative role",
                mapping={"scopes": " ".join(admin)},
            ),
        )
    if ordinary := [each for each in scopes if each not in cfg.scopes.for_groups.union(present)]:
        raise InvalidGroup(
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
        raise InvalidGroup("scopes", message)
    return joined


def _level(text: str) -> str | None:
    if text and text not in LEVELS:
        message = _(
            "give one of ${levels}, or nothing for none", mapping={"levels": ", ".join(LEVELS)}
        )
        raise InvalidGroup("require_acr", message)
    return text or None


def _details(group: Group, cause: Cause) -> dict[str, Detail]:
    level = {"require_acr": group.require_acr} if group.require_acr else {}
    return cause.details(group=group.name, scopes=group.scopes, **level)
