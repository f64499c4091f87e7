"""GET /admin/users/{id}"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from pyramid.view import view_config
from sqlalchemy import select

from authsite.account import sessions
from authsite.admin.errors import InvalidCursor, Outranked, SearchTooWide
from authsite.admin.guard import Administrator, administrator_of, require_rank, reserved_groups
from authsite.admin.lists import invalid
from authsite.admin.users import detail, search
from authsite.admin.users.search import Wanted
from authsite.oauth.tokens.families import list_personal
from authsite.platform.audit.models import AuditEvent, Detail
from authsite.platform.context import Context
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.http.forms import set_errors
from authsite.platform.i18n import _
from authsite.platform.mail.outbox import OutboxMessage
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.sign_in.factors import service as factors
from authsite.users import account, former
from authsite.users import service as users
from authsite.users.groups.labels import groups_of
from authsite.users.models import User

from .asking import acting

# GET /admin/users


USERS = "authsite:templates/admin/users/users.jinja2"
FIELDS = ("q", "disabled", "confirmed", "group", "created_after", "without_factor")
MAX_LENGTH = 320  # characters of a field
_FLAGS = {"true": True, "false": False}


@view_config(
    route_name="authsite.admin.users",
    request_method="GET",
    renderer=USERS,
    admin="users:read",
)
def show_list(request: Request) -> dict[str, Any]:
    """The users that agree with the search, page by page."""
    given = {name: request.GET.get(name, "").strip()[:MAX_LENGTH] for name in FIELDS}
    values: dict[str, Any] = {"given": given, "users": (), "next": None, "counted": None}
    try:
        return values | _find(request, _wanted(given))
    except (InvalidCursor, SearchTooWide, ValidationFailed) as error:
        set_errors(request, error)
        return values


def _find(request: Request, wanted: Wanted) -> dict[str, Any]:
    ctx, by, cursor = request.authsite.ctx, administrator_of(request), request.GET.get("cursor")
    page = search.search(ctx, by, wanted, cursor=cursor, walk=search.PAGE_WALK)
    found: dict[str, Any] = {"users": page.rows, "next": page.next}
    if cursor:
        return found
    return {**found, "counted": search.count(ctx, wanted, search.PAGE_WALK)}


def _wanted(given: Mapping[str, str]) -> Wanted:
    """What is searched for. Raises `ValidationFailed`."""
    if bad := [name for name, text in given.items() if "\0" in text]:
        raise ValidationFailed(details=[invalid(name) for name in bad])
    return Wanted(
        q=given["q"],
        disabled=_FLAGS.get(given["disabled"]),
        confirmed=_FLAGS.get(given["confirmed"]),
        group=given["group"] or None,
        created_after=_day(given["created_after"]),
        without_factor=given["without_factor"] == "true",
    )


def _day(text: str) -> datetime | None:
    """The beginning of a day, in UTC."""
    if not text:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        message = _("Write the day as year-month-day, such as 2026-05-31.")
        raise ValidationFailed(details=[FieldError("invalid", "created_after", message)]) from None


# What the page of a user shows, as far as the administrator may read it.


MAX_ROWS = 20  # of each section


class Action(NamedTuple):
    """A link to a confirming page. ``permission``: what it needs."""

    route: str
    label: str
    permission: str
    shown: Callable[[User], bool] = lambda _user: True
    dangerous: bool = False


ACTIONS = (
    Action("reset-password", _("Send reset link"), "mail:write", lambda user: not user.disabled_at),
    Action("sign-out", _("End all sign-ins"), "sessions:write"),
    Action("profile", _("Change profile"), "users:write"),
    Action("change-email", _("Change address"), "users:write"),
    Action(
        "send-verification",
        _("Send confirmation link"),
        "mail:write",
        lambda user: not user.email_verified_at and not user.disabled_at,
    ),
    Action(
        "confirm", _("Mark as confirmed"), "users:write", lambda user: not user.email_verified_at
    ),
    Action("export", _("Download data"), "exports:read"),
    Action("enable", _("Enable"), "users:write", lambda user: bool(user.disabled_at)),
    Action("disable", _("Disable"), "users:write", lambda user: not user.disabled_at, True),
    Action("delete", _("Delete"), "users:write", dangerous=True),
)
"""Those at the top of the page; the others stand in their sections."""


class Entry(NamedTuple):
    """A row of the audit trail. ``actor``: the administrator's address, or what acted."""

    event: AuditEvent
    actor: str | None
    reason: str | None
    details: str


class Limit(NamedTuple):
    """A count of attempts, and when it ends."""

    name: str
    attempts: int
    ends: datetime


def values(ctx: Context, by: Administrator, user: User) -> dict[str, Any]:
    """The values of admin/users/user.jinja2. A section that may not be read is None."""
    acts = _may_act(by, user)
    return {
        "user": user,
        "may": {each: acts and by.may(each) for each in _WRITES},
        "actions": [
            each for each in ACTIONS if acts and by.may(each.permission) and each.shown(user)
        ],
        "administrator_groups": reserved_groups(user.labels),
        "pending": former.find_pending(ctx.db, user.id),
        "former": former.list_first(ctx.db, user.id),
        **{
            name: read(ctx, user.id) if by.may(permission) else None
            for name, permission, read in _SECTIONS
        },
    }


def _may_act(by: Administrator, user: User) -> bool:
    try:
        require_rank(by, user)
    except Outranked:
        return False
    return True


def _sessions(ctx: Context, user_id: UUID) -> Sequence[sessions.ActiveSession]:
    return sessions.list_active(ctx, user_id, None)[0][:MAX_ROWS]


def _limits(ctx: Context, user_id: UUID) -> Sequence[Limit]:
    """One of each name: the counts of a lockout say the same."""
    found: dict[str, Limit] = {}
    for row in detail.limits(ctx, user_id):
        name, ends = row["limit"], datetime.fromisoformat(row["expires_at"])
        other = found.get(name, Limit(name, 0, ends))
        found[name] = Limit(name, max(row["count"], other.attempts), max(ends, other.ends))
    return list(found.values())


def _mails(ctx: Context, user_id: UUID) -> Sequence[OutboxMessage]:
    """The newest mails; those that were sent are purged after some time."""
    query = select(OutboxMessage).where(OutboxMessage.user_id == user_id)
    newest = query.order_by(OutboxMessage.created_at.desc(), OutboxMessage.id).limit(MAX_ROWS)
    return ctx.db.scalars(newest).all()


def _events(ctx: Context, user_id: UUID) -> Sequence[Entry]:
    query = select(AuditEvent).where(AuditEvent.user_id == user_id)
    rows = ctx.db.scalars(query.order_by(AuditEvent.id.desc()).limit(MAX_ROWS)).all()
    ids = [UUID(id_) for row in rows if (id_ := _actor(row).get("id"))]
    emails = users.emails(ctx.db, ids)
    return [_entry(row, emails) for row in rows]


def _entry(row: AuditEvent, emails: Mapping[UUID, str]) -> Entry:
    actor, details = _actor(row), dict(row.details or {})
    details.pop("actor", None)
    reason = details.pop("reason", None)
    id_, kind = actor.get("id"), actor.get("kind")
    name = emails.get(UUID(id_)) if id_ else None
    who = name or " ".join(filter(None, (kind, id_))) or None
    return Entry(row, who, _text(reason), ", ".join(f"{k}={_text(v)}" for k, v in details.items()))


def _actor(row: AuditEvent) -> Mapping[str, str | None]:
    found = (row.details or {}).get("actor")
    return found if isinstance(found, dict) else {}


def _text(value: Detail | None) -> str | None:
    if isinstance(value, dict):
        return " ".join(filter(None, value.values()))
    return value


_SECTIONS: tuple[tuple[str, str, Callable[[Context, UUID], Any]], ...] = (
    ("sessions", "sessions:read", _sessions),
    ("tokens", "sessions:read", list_personal),
    ("factors", "factors:read", factors.overview),
    ("groups", "groups:read", lambda ctx, user_id: groups_of(ctx.db, user_id)),
    ("limits", "limits:read", _limits),
    ("locked_until", "limits:read", detail.locked_until),
    ("mails", "mail:read", _mails),
    ("events", "audit:read", _events),
)
_WRITES = ("sessions:write", "factors:write", "groups:write", "limits:write")

USER = "authsite:templates/admin/users/user.jinja2"


@view_config(
    route_name="authsite.admin.users.user",
    request_method="GET",
    renderer=USER,
    admin="users:read",
)
def show_user(request: Request) -> dict[str, Any]:
    """One user, and the links to what the administrator may do."""
    return {
        **values(*acting(request)),
        "now": clock.now(),
        "program": account.describe,
    }
