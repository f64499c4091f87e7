"""The events of a user, in the person's export and in that of everything."""

from typing import Literal

from typing_extensions import TypedDict

from authsite.platform.user_data import Id, Line, Moment, UserData, exported_line

from . import models


@exported_line
class AuditEvent(TypedDict):
    type: Literal["audit_event"]
    id: int
    at: Moment
    event: str
    """docs/audit.md lists the events."""
    user_id: Id | None
    client_id: Id | None
    address: str | None
    agent: str | None
    request_id: str | None
    details: dict[str, str | dict[str, str | None]] | None


USER_DATA = UserData(
    "audit_events",
    models.AuditEvent,
    "id at event client_id address agent request_id details",
    retained=True,  # with the user's id alone
    line=Line("audit_events", AuditEvent),
)
