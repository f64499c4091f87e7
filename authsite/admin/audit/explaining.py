"""What an event of a request means, why something failed, and how a denied request was answered.

Of each reason there is a text for the operator, and what to tell the person and the developer.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent
from authsite.platform.context import Context, Services
from authsite.platform.denied_requests import service as denied_requests
from authsite.platform.denied_requests.models import DeniedRequest
from authsite.platform.denied_requests.reason import DenialReason
from authsite.platform.i18n import _, translate
from authsite.platform.runtime import clock
from authsite.sign_in.failure_reasons import WRONG_NAME, FailureReason
from authsite.sign_in.wording import wording

from .rows import facts

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
