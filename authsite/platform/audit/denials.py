"""Record denied requests: forged links, foreign pages, wrong secrets, requests over a limit."""

from collections.abc import Callable

from structlog import get_logger

from authsite.platform.http.errors import ApiError
from authsite.platform.request_state import Request

from .events import Event
from .service import record_apart

log = get_logger("authsite.audit")


def record_denial(request: Request, error: ApiError) -> None:
    """Record ``error`` if it is a security event (OWASP ASVS 16.3), after the transaction.

    Each event is recorded once an hour for a client address, and client or `audit_subject`, so that
    attackers cannot grow the table without limit; the log has every request. If recording fails,
    the response stays the same.
    """
    event, client_id = error.audit_event, error.client_id
    if event is None:
        return
    state = request.authsite
    details = error.audit_details or ({"reason": error.reason} if error.reason else None)
    subject = (event, state.ctx.limits.address, str(client_id or error.audit_subject))

    def write() -> None:
        if state.ctx.limits.first(*subject):
            record_apart(state.ctx, event, client_id=client_id, details=details)

    _at_end(request, event, write)


def record_exceeded(request: Request, limit: str, subject: str) -> None:
    """Record that ``subject`` has exceeded ``limit``, after the transaction.

    ``subject``: a keyed hash of what the limit counts, such as an address. `CallerLimits` calls
    this once in a window.
    """
    event = Event.LIMIT_EXCEEDED
    details = {"limit": limit, "subject": subject[:16]}
    ctx = request.authsite.ctx
    _at_end(request, event, lambda: record_apart(ctx, event, details=details))


def _at_end(request: Request, event: Event, write: Callable[[], None]) -> None:
    def write_or_log(_request: object) -> None:
        try:
            write()
        except Exception as failure:  # the response is made: a bug here must not replace it
            log.error("audit_failed", event_name=event, error=type(failure).__name__)

    request.add_finished_callback(write_or_log)
