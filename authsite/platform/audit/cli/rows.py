"""Audit events as rows for people and as objects for scripts."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from authsite.oauth import clients
from authsite.platform.audit.models import AuditEvent, Detail
from authsite.platform.runtime import clock
from authsite.users import agents
from authsite.users import service as users

COLUMNS = ("at", "event", "e-mail", "address", "device", "details")
ID_COLUMNS = ("at", "event", "user", "client", "address", "request", "details")


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


def cells(row: Mapping[str, Any], *, ids: bool = False) -> tuple[str, ...]:
    """The cells of a row under `COLUMNS`, with ``ids`` under `ID_COLUMNS`."""
    details = [f"{name}={in_words(value)}" for name, value in row["details"].items()]
    if ids:
        names = ("at", "event", "user_id", "client_id", "address", "request_id")
        return (*(row[name] or "–" for name in names), ", ".join(details))
    if row["client"]:
        details.insert(0, f"client={row['client']}")
    email = row["email"] or ("(deleted)" if row["user_id"] else "–")
    shown = (row["at"], row["event"], email, row["address"] or "–", row["device"] or "–")
    return (*shown, ", ".join(details))
