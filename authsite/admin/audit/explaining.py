"""What an event of a request means, why something failed, and how a denied request was answered."""

from collections.abc import Collection, Mapping
from typing import Any

from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent
from authsite.platform.context import Services
from authsite.platform.denied_requests import service as denied_requests
from authsite.platform.denied_requests.models import DeniedRequest
from authsite.platform.i18n import _, translate
from authsite.platform.runtime import clock

TABLES: Mapping[Event, str] = {
    Event.AUTHORIZATION_REFUSED: "authorization",
    Event.FORM_CROSS_ORIGIN: "form",
    Event.LOGIN_FAILED: "login",
    Event.PROVIDER_ADDRESS_ASKED: "provider_address",
    Event.PROVIDER_REFUSED: "provider",
}
"""Events whose detail `reason` is a row of a table of reasons, with the name of the table."""
NO_REASON = "The request was denied."


def meaning_of(services: Services, event: AuditEvent, shown: Collection[str] = frozenset()) -> str:
    """What the event means, and why a login or a return from a provider failed.

    ``shown``: the names of the reasons that the reader has already.
    """
    known = Event.of(event.event)
    if known is None:
        return "This version does not know the event."
    names = [name for name in reason_names(event) if name not in shown]
    reasons = [denied_requests.reason_of(services, name) for name in names]
    return " ".join([known.meaning, *(each.meaning for each in reasons if each)])


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
        "person": translate(_(getattr(reason, "person", ""), mapping=details)),
        "client_id": str(row.client_id) if row.client_id else None,
        "address": row.address,
        "details": details,
    }
