"""Which events to list, from the texts of a query or of options."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session

from authsite.admin.queries import ListQuery, invalid
from authsite.platform.audit.events import begins
from authsite.platform.audit.service import Filter
from authsite.platform.http.errors import ValidationFailed
from authsite.platform.runtime import clock
from authsite.platform.runtime.ids import as_id
from authsite.platform.settings.durations import CENTURY, duration
from authsite.users import service as users

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
