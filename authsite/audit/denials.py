"""Record denied requests: forged links, foreign pages, wrong tokens and secrets."""

from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from structlog import get_logger

from authsite.http.errors import ApiError
from authsite.request_state import Request

from .service import record_apart

log = get_logger("authsite.audit")


def record_denial(request: Request, error: ApiError) -> None:
    """Record ``error`` if it is a security event (OWASP ASVS 16.3), after the transaction.

    Each event is recorded once an hour for a client address and client, so that attackers cannot
    grow the table without limit; the log has every request. If recording fails, the response stays
    the same.
    """
    event, client_id = error.audit_event, error.client_id
    if event is None:
        return
    state = request.authsite
    details = {"reason": error.reason} if error.reason else None
    subject = (event, state.ctx.limits.address, str(client_id or ""))

    def write(_request: Any) -> None:
        try:
            if state.ctx.limits.first(*subject):
                record_apart(state.ctx, event, client_id=client_id, details=details)
        except SQLAlchemyError as failure:
            log.error("audit_failed", event_name=event, error=type(failure).__name__)

    request.add_finished_callback(write)
