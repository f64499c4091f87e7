"""What an event of a request means, and why something failed."""

from collections.abc import Iterable, Mapping

from authsite.oauth.authorization_reasons import Reason
from authsite.platform.audit.events import Event
from authsite.platform.audit.explained import Explained
from authsite.platform.audit.failure_reasons import FailureReason
from authsite.platform.audit.models import AuditEvent
from authsite.sign_in.methods.provider.failures import AddressDoubt, ProviderFailure
from authsite.sign_in.sessions.csrf import CsrfCause

REASONS: Mapping[Event, Iterable[Explained | ProviderFailure | Reason]] = {
    Event.AUTHORIZATION_REFUSED: Reason,
    Event.FORM_CROSS_ORIGIN: CsrfCause,
    Event.LOGIN_FAILED: FailureReason,
    Event.PROVIDER_ADDRESS_ASKED: AddressDoubt,
    Event.PROVIDER_REFUSED: ProviderFailure,
}
"""Events with the meanings of their detail `reason`."""


def meaning_of(event: AuditEvent) -> str:
    """What the event means, and why a login or a return from a provider failed."""
    known = Event.of(event.event)
    if known is None:
        return "This version does not know the event."
    reason = (event.details or {}).get("reason")
    why = [each.meaning for each in REASONS.get(known, ()) if each == reason]
    return " ".join([known.meaning, *why])
