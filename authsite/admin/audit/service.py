"""The audit trail as administrators read it: newest first, with a cursor.

The events of a user come from the index of that user, all others from the index of the times. With
another filter that index is walked, which stops after `WALK` events with a cursor: no filter has an
index that would slow down logins.
"""

import csv
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from pydantic import Field
from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from authsite.admin.errors import PermissionMissing, UnknownObject
from authsite.admin.guard import Administrator
from authsite.admin.lists import ListQuery, Page, after, cursor, invalid, limited
from authsite.oauth.clients import service as clients
from authsite.platform.audit.events import Event, begins
from authsite.platform.audit.models import AuditEvent, Detail
from authsite.platform.audit.seals.seal import audit_keys
from authsite.platform.audit.seals.table import newest_seal
from authsite.platform.audit.seals.verification import as_json, count_up_to, last_result, verify
from authsite.platform.audit.service import About, Filter, conditions_of, record_apart
from authsite.platform.context import Context, Services
from authsite.platform.db.transaction import snapshot_on
from authsite.platform.denied_requests import service as denied_requests
from authsite.platform.denied_requests.models import DeniedRequest
from authsite.platform.denied_requests.reason import DenialReason
from authsite.platform.http.errors import ValidationFailed
from authsite.platform.i18n import _, translate
from authsite.platform.registrations import Registered
from authsite.platform.runtime import clock
from authsite.platform.runtime.cached import Cached
from authsite.platform.runtime.ids import as_id
from authsite.platform.settings.values import CENTURY, duration
from authsite.sign_in.failure_reasons import WRONG_NAME, FailureReason
from authsite.sign_in.wording import wording
from authsite.users import account
from authsite.users import service as users

# Which events to list, from the texts of a query or of options.


NAMES = ("user", "client", "event", "address", "since", "until")


class EventsQuery(ListQuery):
    """Query of the audit trail."""

    user: Annotated[str | None, Field(examples=["ann@example.com"])] = None
    """Only events of this user: an id, also of a deleted user, or a name to sign in with."""
    client: Annotated[str | None, Field(examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])] = None
    """Only events of the client with this id."""
    event: Annotated[str | None, Field(examples=["login.failed"])] = None
    """Only events with this name, or whose names begin so: `login` finds `login.failed`."""
    address: Annotated[str | None, Field(examples=["203.0.113.7"])] = None
    """Only events from this client address."""
    since: Annotated[str | None, Field(examples=["24h"])] = None
    """Only newer events: a duration such as `24h` or `7d`, a date in UTC, or a moment."""
    until: Annotated[str | None, Field(examples=["2026-05-31"])] = None
    """Only older events, given in the same way."""

    @property
    def texts(self) -> Mapping[str, str]:
        """The filters that are given."""
        given = {name: getattr(self, name) for name in NAMES}
        return {name: text for name, text in given.items() if text}


def filter_of(db: Session, query: EventsQuery) -> Filter:
    """The events that ``query`` asks for. Raises `ValidationFailed`."""
    wrong, found = [], {}
    readers = {
        "user": lambda text: user_id_of(db, text),
        "client": as_id,
        "event": lambda text: text if begins(text) else None,
        "address": lambda text: text,
        "since": moment,
        "until": moment,
    }
    for name, text in query.texts.items():
        value = found[name] = readers[name](text)
        if value is None:
            wrong.append(invalid(name))
    if wrong:
        raise ValidationFailed(details=wrong)
    return Filter(
        user_id=found.get("user"),
        client_id=found.get("client"),
        event=found.get("event"),
        address=found.get("address"),
        since=found.get("since"),
        until=found.get("until"),
    )


def user_id_of(db: Session, text: str) -> UUID | None:
    """The id of the user with this name or id, or the id itself: the user may be deleted."""
    found = users.find(db, text)
    return found.id if found else as_id(text)


def moment(text: str) -> datetime | None:
    """So long ago, or a date or moment; None for another text."""
    try:
        return clock.now() - duration(CENTURY)(text)
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


# Audit events as objects, as API and commands print them.


def facts(db: Session, events: Sequence[AuditEvent]) -> list[dict[str, Any]]:
    """Each event as an object, with the user's e-mail address and the client's name."""
    emails = users.emails(db, (each.user_id for each in events if each.user_id))
    names = clients.names(db, (each.client_id for each in events if each.client_id))
    return [
        {
            "at": clock.rfc3339(each.at),
            "event": each.event,
            "user_id": str(each.user_id) if each.user_id else None,
            "email": emails.get(each.user_id) if each.user_id else None,
            "client_id": str(each.client_id) if each.client_id else None,
            "client": names.get(each.client_id) if each.client_id else None,
            "address": each.address,
            "device": account.in_words(each.agent) if each.agent else None,
            "agent": each.agent,
            "request_id": each.request_id,
            "details": each.details or {},
        }
        for each in events
    ]


def in_words(detail: Detail) -> str:
    """A value of an event's details as a text: an actor as its kind and id."""
    return detail if isinstance(detail, str) else " ".join(filter(None, detail.values()))


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


# What an event of a request means, why something failed, and how a denied request was answered.
#
# Of each reason there is a text for the operator, and what to tell the person and the developer.


TABLES: Mapping[Event, str] = {
    Event.AUTHORIZATION_REFUSED: "authorization",
    Event.FORM_CROSS_ORIGIN: "form",
    Event.LOGIN_FAILED: "login",
    Event.PROVIDER_ADDRESS_ASKED: "provider_address",
    Event.PROVIDER_REFUSED: "provider",
}
"""Events whose detail `reason` is a row of a table of reasons, with the name of the table."""
NO_REASON = "The request was denied."
UNKNOWN_EVENT = "This version does not know the event."


def explained(ctx: Context, events: Sequence[AuditEvent]) -> list[dict[str, Any]]:
    """Each event as an object, with its `event_texts`."""
    rows = zip(facts(ctx.db, events), events, strict=True)
    return [{**row, **event_texts(ctx.services, event)} for row, event in rows]


def event_texts(
    services: Services, event: AuditEvent, shown: Collection[str] = frozenset()
) -> dict[str, str]:
    """``meaning`` of the event and its reasons; ``person`` and ``developer``: what to tell them.

    The texts are empty where there is no reason. After a passkey the login page has one text for
    all failures. ``shown``: the names of the reasons that the reader has already.
    """
    known = Event.of(event.event)
    if known is None:
        return {"meaning": UNKNOWN_EVENT, **_texts(services, (), {})}
    details = {name: each for name, each in (event.details or {}).items() if isinstance(each, str)}
    names = [name for name in reason_names(event) if name not in shown]
    rows = [row for name in names if (row := denied_requests.reason_of(services, name))]
    meaning = " ".join([known.meaning, *(row.meaning for row in rows)])
    of_passkey = known is Event.LOGIN_FAILED and "check" in details
    page = FailureReason.WRONG_PASSKEY if of_passkey else None
    return {"meaning": meaning, **_texts(services, rows, details, page)}


def reason_names(event: AuditEvent) -> list[str]:
    """The names of the reasons of an event, as `DeniedRequest.reason` has them."""
    known, details = Event.of(event.event), event.details or {}
    names = [f"{TABLES[known]}.{details.get('reason')}"] if known and known in TABLES else []
    if "check" in details:
        names.append(f"passkey.{details['check']}")
    return names


def denial_of(services: Services, row: DeniedRequest) -> dict[str, Any]:
    """A denied request as an object: ``meaning`` is for operators, ``person`` what to tell them.

    ``details``: what was sent and expected, what is nearest and what differs.
    """
    reason = denied_requests.reason_of(services, row.reason)
    details = dict(row.details or {})
    return {
        "at": clock.rfc3339(row.at),
        "route": row.route,
        "status": row.status,
        "error": row.error,
        "reason": row.reason,
        "meaning": reason.meaning if reason else NO_REASON,
        "answer": details.pop("answer", ""),
        **_texts(services, [reason] if reason else (), details),
        "client_id": str(row.client_id) if row.client_id else None,
        "address": row.address,
        "details": details,
    }


def _texts(
    services: Services,
    reasons: Sequence[DenialReason],
    details: Mapping[str, str],
    page: DenialReason | None = None,
) -> dict[str, str]:
    """What to tell the person and the developer; ``page``: whose text a page has, if not the first.

    A provider is called by its label, as on the pages.
    """
    settings = services.settings
    values = {**details, WRONG_NAME: wording(settings.login_identifiers).wrong}
    if provider := settings.provider(details.get("provider", "")):
        values["provider"] = provider.label
    return {
        "person": translate(_((page or reasons[0]).person, mapping=values)) if reasons else "",
        "developer": " ".join(each.description(values) for each in reasons),
    }


# The audit trail as files: NDJSON, and CSV that is safe to open in a spreadsheet.
#
# Both are made part by part, so that few rows are in memory together.


COLUMNS = (
    "at", "event", "user_id", "email", "client_id", "client", "address", "device", "agent",
    "request_id", "details",
)  # fmt: skip
# What a spreadsheet takes for the beginning of a formula (OWASP, CSV Injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def as_ndjson(parts: Iterable[Iterable[Mapping[str, Any]]]) -> Iterator[bytes]:
    """One object of JSON on each line."""
    for rows in parts:
        yield "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def as_csv(parts: Iterable[Iterable[Mapping[str, Any]]]) -> Iterator[bytes]:
    """A line of `COLUMNS`, and one for each row (RFC 4180)."""
    yield _lines([COLUMNS])
    for rows in parts:
        cells = ({**row, "details": _details(row["details"])} for row in rows)
        yield _lines([safe(row[name] or "") for name in COLUMNS] for row in cells)


def _lines(rows: Iterable[Iterable[str]]) -> bytes:
    file = StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    return file.getvalue().encode()


def safe(text: str) -> str:
    """``text`` as a cell; an apostrophe makes what looks like a formula a text."""
    begins = text.lstrip(" ").startswith(_FORMULA) or text.startswith(_FORMULA)
    return f"'{text}" if begins else text


def _details(details: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={in_words(value)}" for name, value in details.items())


# Whether the seals of the audit trail hold: computed now, or what was found the last time.


CACHED = timedelta(seconds=60)
AT_ONCE = 1_000
"""How many events are verified in every request; `WALK` of them take about a second."""
STATES = Registered[Cached[dict[str, Any]]]("states of the seals")
AGAIN = "`authsite audit verify` says which events, and why"


def shown(ctx: Context) -> dict[str, Any]:
    """`state_of_seals`, at most a minute old."""
    return STATES.of(ctx.services)["seals"].get()


def current(ctx: Context) -> dict[str, Any]:
    """`state_of_seals`: of a trail of up to `AT_ONCE` events now, else at most a minute old."""
    with ctx.database.autocommit.connect() as connection:
        is_short = count_up_to(connection, AT_ONCE + 1) <= AT_ONCE
    return state_of_seals(ctx.services) if is_short else shown(ctx)


def state_of_seals(services: Services) -> dict[str, Any]:
    """What ``authsite audit verify --json`` prints, and when that was found (``verified_at``).

    A short trail is verified now. Of a longer one this is the result of the last ``authsite audit
    verify``; before the first all numbers are null.
    """
    keys = audit_keys(services.settings)
    with services.database.autocommit.connect() as connection:
        if count_up_to(connection, WALK + 1) <= WALK:
            with snapshot_on(connection):
                summary, problems = verify(connection, keys)
            return {"verified_at": clock.rfc3339(clock.now()), **as_json(summary, problems)}
        newest, found = newest_seal(connection, keys), last_result(connection, keys)
    shown = newest and {"seal": newest.id, "mac": newest.mac}
    if found is None:
        numbers = dict.fromkeys(("verified_at", "ok", "seals", "events", "unsealed"))
        return {**numbers, "newest_seal": shown, "problems": []}
    problem = {"seal": None, "first_id": None, "last_id": None, "until": None}
    return {
        "verified_at": clock.rfc3339(found.at),
        "ok": found.ok,
        "seals": found.seals,
        "events": found.events,
        "unsealed": found.unsealed,
        "newest_seal": shown,
        "problems": [{**problem, "text": f"{found.problems} problems: {AGAIN}"}]
        if found.problems
        else [],
    }
