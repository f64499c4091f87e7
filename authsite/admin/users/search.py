"""Search users: always in the order of one index, from a cursor on, with a limit of time.

A text is an id, the beginning of a login name, or after ``name:`` that of a name. What no index
answers is looked for among some rows at a time (`WALK`, `SHORT_WALK`): then a page may be empty,
and yet have a cursor.
"""

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Select,
    Subquery,
    Uuid,
    and_,
    collate,
    exists,
    func,
    literal,
    select,
    tuple_,
)
from sqlalchemy.orm import Session, aliased

from authsite.admin import lists
from authsite.admin.guard import Administrator
from authsite.admin.lists import Page, limited
from authsite.platform.context import Context
from authsite.platform.db.folded import folded_name
from authsite.platform.runtime.ids import as_id
from authsite.sign_in.identifiers import KINDS, candidates
from authsite.users.groups.labels import GroupMember
from authsite.users.models import LoginName, User

WALK = 20_000  # rows, of the newest users without a factor
SHORT_WALK = 500  # rows, of any others: each may be looked for in other tables
PAGE_WALK = 2_000  # rows, of the same on a page, which may take longer than a list of the API
COUNTED = 1_000  # users; more are "1,000+"
MAX_TEXT = 320  # characters
NAME = "name:"
_ID: ColumnElement[uuid.UUID] = User.id.expression
_CREATED: ColumnElement[datetime] = User.created_at.expression
_LAST = "\U0010ffff"  # after every other character, in the binary order of UTF-8


class Wanted(NamedTuple):
    """Which users to find: those that agree with every value given."""

    q: str = ""
    """An id, the beginning of an e-mail address, username or phone number, or ``name:`` with that
    of a name."""
    disabled: bool | None = None
    confirmed: bool | None = None
    group: str | None = None
    created_after: datetime | None = None
    without_factor: bool = False

    def filters(self) -> dict[str, object]:
        """What a cursor is bound to."""
        return {"list": "users", **{name: repr(value) for name, value in self._asdict().items()}}


class Counted(NamedTuple):
    """How many users were found, and whether there are more."""

    number: int
    more: bool


class _Order(NamedTuple):
    """The rows of an index: where to look, by which values they are ordered, and which."""

    rows: Select[Any]
    keys: tuple[ColumnElement[Any], ...]
    user_id: ColumnElement[uuid.UUID]
    newest_first: bool = False
    filters: tuple[ColumnElement[bool], ...] = ()
    """What the index does not answer."""
    walk: int = 0
    """How many rows are read at a time if there are filters."""
    first: ColumnElement[bool] | None = None
    """Whether it is the user's first row; None if each user has only one."""


def search(
    ctx: Context,
    by: Administrator,
    wanted: Wanted,
    *,
    cursor: str | None = None,
    limit: int = lists.DEFAULT_LIMIT,
    walk: int = 0,
) -> Page[User]:
    """Up to ``limit`` users from ``cursor`` on. Raises `InvalidCursor` and `SearchTooWide`.

    ``walk``: how many rows are read at least if no index answers a filter.
    In the order of their login names if one was looked for, of their ids in a group, else the
    newest first.
    """
    last = lists.after(ctx, by, wanted.filters(), cursor)
    with limited(ctx) as db:
        order = _order(ctx, wanted, _is_sqlite(db), walk)
        walked = _walk(order, last, limit + 1).subquery()
        keys = _keys_of(walked)
        found = db.execute(
            select(walked.c.user_id, *keys)
            .where(walked.c.fits)
            .order_by(*(_ordered(key, order) for key in keys))
            .limit(limit + 1)
        ).all()
        rows = found[:limit]
        key: Sequence[Any] | None = None
        if len(found) > limit:
            key = rows[-1][1:]
        elif order.filters:
            key = _end_of(db, order, last)
        users = _load(db, [row.user_id for row in rows])
    following = lists.cursor(ctx, by, wanted.filters(), _plain(key)) if key else None
    return Page(users, following)


def count(ctx: Context, wanted: Wanted, walk: int = 0) -> Counted:
    """How many users there are, counted to `COUNTED`. ``walk``: as of `search`.

    Raises `SearchTooWide`.
    """
    with limited(ctx) as db:
        order = _order(ctx, wanted, _is_sqlite(db), walk)
        walked = _walk(order, None, COUNTED + 1).subquery()
        some = select(walked.c.user_id).where(walked.c.fits).limit(COUNTED + 1).subquery()
        number = db.scalar(select(func.count()).select_from(some)) or 0
        more = number > COUNTED or bool(order.filters and _end_of(db, order, None))
    return Counted(min(number, COUNTED), more)


def _order(ctx: Context, wanted: Wanted, sqlite: bool, walk: int) -> _Order:
    """The index that answers, what it does not, and how many rows are read for that."""
    order = _index(ctx, wanted, sqlite)
    return order._replace(walk=max(order.walk, walk))


def _index(ctx: Context, wanted: Wanted, sqlite: bool) -> _Order:
    text = wanted.q.strip()[: MAX_TEXT + 1]
    filters = _filters(wanted)
    if id_ := as_id(text.lower()):
        order = _Order(select().where(User.id == id_), (_ID,), _ID)
    elif text.startswith(NAME):
        name = _binary(User.folded_name, sqlite)
        begin = folded_name(text.removeprefix(NAME).strip()) or ""
        rows = select().where(name >= begin, name < begin + _LAST)
        order = _Order(rows, (name, _ID), _ID)
    elif text:
        order = _by_login_name(_key(ctx, text), sqlite)
    elif wanted.group:
        rows = select().where(GroupMember.group_name == wanted.group)
        member = GroupMember.user_id.expression
        order = _Order(rows, (member,), member)
        del filters["group"]
    else:
        return _newest(wanted, filters)
    return order._replace(filters=tuple(filters.values()), walk=SHORT_WALK)


def _newest(wanted: Wanted, filters: dict[str, ColumnElement[bool]]) -> _Order:
    """The newest first; disabled and unconfirmed users have separate indexes."""
    indexed = [filters.pop("created_after")] if wanted.created_after else []
    if wanted.disabled:
        indexed.append(filters.pop("disabled"))
    elif wanted.confirmed is False:
        indexed.append(filters.pop("confirmed"))
    keys: tuple[ColumnElement[Any], ...] = (_CREATED, _ID)
    rest = tuple(filters.values())
    walk = WALK if wanted.without_factor else SHORT_WALK
    return _Order(select().where(*indexed), keys, _ID, newest_first=True, filters=rest, walk=walk)


def _by_login_name(begin: str, sqlite: bool) -> _Order:
    """Users with a login name in a range of keys: each once, by the first one."""
    key, other = _binary(LoginName.key, sqlite), aliased(LoginName)
    before = _binary(other.key, sqlite)
    is_first = ~exists().where(
        other.user_id == LoginName.user_id, before >= begin, before < key
    ).correlate(LoginName)
    rows = select().where(key >= begin, key < begin + _LAST)
    return _Order(rows, (key,), LoginName.user_id.expression, first=is_first)


def _key(ctx: Context, text: str) -> str:
    """The key that ``text`` begins, or is in another spelling."""
    found = candidates(text, tuple(KINDS), ctx.settings.phone_region)
    return found[0].key if found else text.casefold()


def _filters(wanted: Wanted) -> dict[str, ColumnElement[bool]]:
    """The conditions by their names in `Wanted`."""
    found: dict[str, ColumnElement[bool]] = {}
    if wanted.disabled is not None:
        found["disabled"] = User.disabled_at.is_not(None) if wanted.disabled else ~_DISABLED
    if wanted.confirmed is not None:
        found["confirmed"] = ~_UNCONFIRMED if wanted.confirmed else _UNCONFIRMED
    if wanted.group:
        found["group"] = exists().where(
            GroupMember.user_id == User.id, GroupMember.group_name == wanted.group
        )
    if wanted.created_after:
        found["created_after"] = User.created_at > wanted.created_after
    if wanted.without_factor:
        found["without_factor"] = User.factors_since.is_(None)
    return found


_DISABLED, _UNCONFIRMED = User.disabled_at.is_not(None), User.email_verified_at.is_(None)


def _walk(order: _Order, last: Sequence[Any] | None, limit: int) -> Select[Any]:
    """The next rows of the index, each with whether it fits; if not all do, those of a walk."""
    keys = [key.label(f"key{number}") for number, key in enumerate(order.keys)]
    fits: ColumnElement[bool] = literal(True)
    first = () if order.first is None else (order.first,)
    if order.filters:
        fits = and_(*order.filters, *first)  # in this order: most rows end before the last one
    rows = order.rows.add_columns(order.user_id.label("user_id"), *keys, fits.label("fits"))
    if not order.filters:
        rows = rows.where(*first)
    elif order.user_id is not _ID:
        rows = rows.join(User, order.user_id == _ID)
    if last is not None:
        rows = rows.where(_behind(order, last))
    rows = rows.order_by(*(_ordered(key, order) for key in order.keys))
    return rows.limit(order.walk if order.filters else limit)


def _behind(order: _Order, last: Sequence[Any]) -> ColumnElement[bool]:
    """The condition that a row comes after the one with the key ``last``."""
    values = [_typed(key, value) for key, value in zip(order.keys, last, strict=True)]
    if len(values) == 1:
        return order.keys[0] > values[0]
    row = tuple_(*order.keys)
    return row < tuple_(*values) if order.newest_first else row > tuple_(*values)


def _end_of(db: Session, order: _Order, last: Sequence[Any] | None) -> Sequence[Any] | None:
    """The key of the last row that a walk reads, if there may be others behind it."""
    alone = order._replace(filters=(), first=None)  # the index has the keys of all rows
    walked = _walk(alone, last, order.walk).offset(order.walk - 1).limit(1).subquery()
    return db.execute(select(*_keys_of(walked))).one_or_none()


def _load(db: Session, ids: Sequence[uuid.UUID]) -> list[User]:
    """The users with these ids, in the same order."""
    found = {user.id: user for user in db.scalars(select(User).where(User.id.in_(ids)))}
    return [found[id_] for id_ in ids if id_ in found]


def _keys_of(walked: Subquery) -> list[ColumnElement[Any]]:
    return [column for column in walked.c if column.key.startswith("key")]


def _ordered(key: ColumnElement[Any], order: _Order) -> ColumnElement[Any]:
    return key.desc() if order.newest_first else key.asc()


def _typed(key: ColumnElement[Any], value: Any) -> ColumnElement[Any]:
    """A value of a cursor, as its column has it."""
    if isinstance(key.type, Uuid):
        value = uuid.UUID(value)
    elif key is _CREATED:
        value = datetime.fromisoformat(value)
    return literal(value, key.type)


def _plain(key: Sequence[Any]) -> list[str | int | None]:
    return [each.isoformat() if isinstance(each, datetime) else str(each) for each in key]


def _binary(text: Any, sqlite: bool) -> ColumnElement[str]:
    """The text in the order of its bytes, as the index has it: the only one of SQLite."""
    found: ColumnElement[str] = text if sqlite else collate(text, "C")
    return found


def _is_sqlite(db: Session) -> bool:
    return db.connection().dialect.name == "sqlite"
