"""The audit trail as administrators read it: newest first, with a cursor.

The events of a user come from the index of that user, all others from the index of the times. With
another filter that index is walked, which stops after `WALK` events with a cursor: no filter has an
index that would slow down logins.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from authsite.admin.administrator import Administrator
from authsite.admin.errors import PermissionMissing, UnknownObject
from authsite.admin.limited_reading import limited
from authsite.admin.lists import Page, after, cursor
from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.service import About, Filter, conditions_of, record_apart
from authsite.platform.context import Context
from authsite.platform.denied_requests import service as denied_requests
from authsite.platform.denied_requests.models import DeniedRequest

from .filters import EventsQuery, filter_of
from .rows import facts

WALK = 20_000
"""How many events one request reads at most, and how many an export has at most."""
PART = 500  # events of an export that are in memory together
EXPLAINED = 100  # events of one request
LONGEST_REQUEST = timedelta(minutes=1)


class Place(NamedTuple):
    """Where an event is in the order of the list."""

    at: datetime
    id: int


def list_events(
    ctx: Context,
    by: Administrator,
    wanted: Filter,
    limit: int,
    text: str | None = None,
    filters: Mapping[str, object] | None = None,
) -> Page[AuditEvent]:
    """Up to ``limit`` events, the newest first, behind the cursor ``text``.

    ``filters``: those of ``wanted`` as they were given, to which the cursor is bound. There may be
    fewer events, or none, although there is a next part. Raises `InvalidCursor`.
    """
    bound = {"list": "events", **(filters or wanted._asdict())}
    last = after(ctx, by, bound, text)
    found, next_ = _read(ctx.db, wanted, limit, _place(last) if last else None)
    return Page(found, _cursor(ctx, by, bound, next_))


class Explained(NamedTuple):
    """What is stored of a request: its events, and how it was denied."""

    events: Sequence[AuditEvent]
    denied: Sequence[DeniedRequest]


def explain(ctx: Context, request_id: str, at: datetime | None = None) -> Explained:
    """The events of a request, in the order in which they were recorded, at most `EXPLAINED`.

    ``at``: when one of them was, which finds them by the index of the times. Without it the time of
    the denial, if the request was denied in the last days, is near enough; else the newest `WALK`
    events are read, and only for one that is not among them the whole trail. Raises
    `UnknownObject` if there is neither, and `SearchTooWide`.
    """
    if "\0" in request_id:  # PostgreSQL has no text with NUL
        raise UnknownObject
    denied = denied_requests.find(ctx.db, request_id)
    if at is None and denied:
        at = denied[0].at
    if at is None:
        at = _when(ctx, request_id)
    # No index has the ids of requests, and the events of one are recorded within moments.
    try:
        since, until = at - LONGEST_REQUEST, at + LONGEST_REQUEST
    except OverflowError:  # in the years 1 and 9999
        raise UnknownObject from None
    wanted = Filter(request_id=request_id, since=since, until=until)
    query = select(AuditEvent).where(*conditions_of(wanted))
    found = ctx.db.scalars(
        query.order_by(AuditEvent.at.desc(), AuditEvent.id.desc()).limit(EXPLAINED)
    )
    events = found.all()[::-1]
    if not events and not denied:
        raise UnknownObject
    return Explained(events, denied)


def _when(ctx: Context, request_id: str) -> datetime:
    """When the newest event of a request was. Raises `UnknownObject` and `SearchTooWide`."""
    newest = select(AuditEvent.at, AuditEvent.request_id).order_by(AuditEvent.at.desc())
    some = newest.limit(WALK).subquery()
    for query in (
        select(func.max(some.c.at)).where(some.c.request_id == request_id),
        select(func.max(AuditEvent.at)).where(AuditEvent.request_id == request_id),
    ):
        with limited(ctx) as db:
            at: datetime | None = db.scalar(query)
        if at is not None:
            return at
    raise UnknownObject


class Export(NamedTuple):
    """Events as objects, in parts that are read one after the other, and the cursor behind them.

    Read the parts before the response is sent: then a database that fails is a 503.
    """

    parts: Iterator[list[dict[str, Any]]]
    next: str | None


def export(ctx: Context, by: Administrator, query: EventsQuery) -> Export:
    """Up to `WALK` events as objects, which is an event itself.

    Raises `PermissionMissing` for a client that acts for itself: it exports nothing;
    `ValidationFailed` and `InvalidCursor`; and `TooManyAttempts` over the limit ``admin-export``.
    """
    if by.kind == "client":
        raise PermissionMissing("admin:exports:read")
    wanted, bound = filter_of(ctx.db, query), {"list": "events", **query.texts}
    last = after(ctx, by, bound, query.cursor)
    ctx.limits.count("admin-export", by.limit_subject)
    places = AuditEvent.at, AuditEvent.id
    found, next_ = _read(ctx.db, wanted, WALK, _place(last) if last else None, places)
    chosen = " ".join(f"{name}={text}" for name, text in query.texts.items())
    about: About = {"details": by.cause().details(**({"filters": chosen} if chosen else {}))}
    record_apart(ctx, Event.AUDIT_EXPORTED, **about)
    ids = [each.id for each in found]
    return Export(_in_parts(ctx.db, ids), _cursor(ctx, by, bound, next_))


def _in_parts(db: Session, ids: Sequence[int]) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(ids), PART):
        some = ids[start : start + PART]
        events = db.scalars(select(AuditEvent).where(AuditEvent.id.in_(some)))
        by_id = {each.id: each for each in events}
        yield facts(db, [by_id[id_] for id_ in some if id_ in by_id])


def _cursor(
    ctx: Context, by: Administrator, bound: Mapping[str, object], place: Place | None
) -> str | None:
    return cursor(ctx, by, bound, [_exact(place.at), place.id]) if place else None


def _read(
    db: Session,
    wanted: Filter,
    limit: int,
    last: Place | None,
    columns: Sequence[Any] = (),
) -> tuple[Sequence[Any], Place | None]:
    """The events behind ``last``, and the place from which the next part goes on.

    ``columns``: only these of each event.
    """
    conditions, end = conditions_of(wanted), None
    of_user = wanted.user_id is not None
    order: Sequence[Any] = (AuditEvent.id.desc(),)
    if not of_user:
        order = (AuditEvent.at.desc(), *order)
    if last:
        conditions.append(AuditEvent.id < last.id if of_user else _behind(last))
    if _is_filtered(wanted):
        end = _end_for_user(db, wanted, last) if of_user else _end_of_walk(db, wanted, last)
    if end:
        conditions.append(AuditEvent.id >= end.id if of_user else AuditEvent.at >= end.at)
    query = select(*(columns or (AuditEvent,))).where(*conditions).order_by(*order)
    query = query.limit(limit + 1)
    found: Sequence[Any] = db.execute(query).all() if columns else db.scalars(query).all()
    if len(found) > limit:
        return found[:limit], _place_of(found[limit - 1])
    return found, end


def _is_filtered(wanted: Filter) -> bool:
    """Whether more than the index decides, so that many events may be read for one that is found.

    That of the times has no user, and that of a user no times.
    """
    if wanted.user_id is not None:
        return wanted._replace(user_id=None) != Filter()
    return wanted._replace(since=None, until=None) != Filter()


def _end_of_walk(db: Session, wanted: Filter, last: Place | None) -> Place | None:
    """Before the first event that is not read; None if the list ends before.

    All events of the last moment are read: the index has their times alone.
    """
    bounds = conditions_of(Filter(since=wanted.since, until=wanted.until))
    if last:
        bounds.append(AuditEvent.at <= last.at)
    query = select(AuditEvent.at).where(*bounds).order_by(AuditEvent.at.desc())
    at = db.scalar(query.offset(WALK - 1).limit(1))
    return Place(at, 0) if at else None


def _end_for_user(db: Session, wanted: Filter, last: Place | None) -> Place | None:
    """The last event of the user that is read; None if the list ends before."""
    query = select(AuditEvent.id).where(AuditEvent.user_id == wanted.user_id)
    if last:
        query = query.where(AuditEvent.id < last.id)
    id_ = db.scalar(query.order_by(AuditEvent.id.desc()).offset(WALK - 1).limit(1))
    event = db.get(AuditEvent, id_) if id_ else None
    return _place_of(event) if event else None


def _behind(place: Place) -> ColumnElement[bool]:
    # The first condition is the range of the index, for both databases.
    return and_(AuditEvent.at <= place.at, or_(AuditEvent.at < place.at, AuditEvent.id < place.id))


def _place_of(event: Any) -> Place:
    return Place(event.at, event.id)


def _exact(at: datetime) -> str:
    """A moment with its microseconds."""
    return at.astimezone(UTC).isoformat()


def _place(key: Sequence[str | int | None]) -> Place:
    return Place(datetime.fromisoformat(str(key[0])), int(key[1] or 0))
