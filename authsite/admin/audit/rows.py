"""Audit events as objects, as API and commands print them."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from authsite.oauth import clients
from authsite.platform.audit.models import AuditEvent, Detail
from authsite.platform.runtime import clock
from authsite.users import agents
from authsite.users import service as users


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
            "device": agents.in_words(each.agent) if each.agent else None,
            "agent": each.agent,
            "request_id": each.request_id,
            "details": each.details or {},
        }
        for each in events
    ]


def in_words(detail: Detail) -> str:
    """A value of an event's details as a text: an actor as its kind and id."""
    return detail if isinstance(detail, str) else " ".join(filter(None, detail.values()))
