"""An invitation as administrators see it: never the link."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from authsite.platform.http.api_metadata import response_body
from authsite.platform.runtime.clock import rfc3339

from .models import Invitation

_ID = Field(json_schema_extra={"format": "uuid"}, examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])
_MOMENT = Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-31T09:30:00Z"])


@response_body("An invitation.")
class InvitationAnswer(TypedDict):
    id: Annotated[str, _ID]
    """Its id."""
    email: Annotated[
        str, Field(json_schema_extra={"format": "email"}, examples=["ann@example.com"])
    ]
    """The invited address."""
    group: Annotated[str | None, Field(examples=["ops"])]
    """The group that the person will be in; null for none."""
    expires_at: Annotated[str, _MOMENT]
    """When the link ends."""


class Inviter(TypedDict):
    """Who has invited."""

    kind: Literal["user", "client", "command"]
    """Whether a user, a client that acts for itself, or a command has invited."""
    id: Annotated[str | None, _ID]
    """Null for a command."""


@response_body("An open invitation, with who has sent it.")
class OpenInvitation(InvitationAnswer):
    created_at: Annotated[str, _MOMENT]
    """When the person was invited."""
    inviter: Inviter
    """Who has sent it."""


def shown(row: Invitation) -> InvitationAnswer:
    """The answer to a new invitation."""
    return {
        "id": str(row.id),
        "email": row.email,
        "group": row.group_name,
        "expires_at": rfc3339(row.expires_at),
    }


def shown_open(row: Invitation) -> OpenInvitation:
    """An invitation of a list."""
    return {**shown(row), "created_at": rfc3339(row.created_at), "inviter": inviter_of(row)}


def inviter_of(row: Invitation) -> Inviter:
    """Who has invited."""
    if row.inviter_id:
        return {"kind": "user", "id": str(row.inviter_id)}
    if row.client_id:
        return {"kind": "client", "id": str(row.client_id)}
    return {"kind": "command", "id": None}
