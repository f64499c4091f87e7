"""The base class of errors that a caller sees, and the errors of HTTP itself.

Each error has a status, a code and a message. Packages subclass `ApiError`, and
`http.error_views` turns it into a response in the error format of the path.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self
from uuid import UUID

from authsite.platform.i18n import _, translate

if TYPE_CHECKING:
    from authsite.platform.audit.events import Event
    from authsite.platform.denied_requests.reason import DenialReason

ErrorFormat = Literal["json", "oauth", "html"]
"""How errors are written: "oauth" is the body of RFC 6749, section 5.2; "html" is a page."""
ERROR_OF_REQUEST = "authsite.error"
"""The key in the WSGI environ for the `ApiError` of the response, for the request log."""
DENIED = "authsite.denied"
"""The same for another response than an HTTP error, such as a redirect; see `denied`."""


@dataclass(frozen=True)
class FieldError:
    """An error in the input: a stable code, the field (or None) and a message for people."""

    code: str
    field: str | None
    message: str


class ApiError(Exception):
    """Base class of all errors that a caller may see.

    ``summary`` tells in the OpenAPI document when the error occurs. The body lists ``details``
    under ``errors``, or the error itself if there are none. With ``listed`` false the list is
    empty, as for a failed authentication. ``reason`` is for the log, where it may say more than the
    body. With ``shown_again`` a form is shown again with the error, whatever the status is, and
    with ``forgets_form`` without the values that were sent. With ``keeps_writes`` the transaction
    is committed, for a revocation or an audit event before the error. ``audit_event`` is recorded
    with ``client_id`` and ``audit_details`` (by default ``reason``), at most once an hour for each
    client address and ``audit_subject``. ``members``: further members of a body at the OAuth
    endpoints.

    ``why``: the row of a table of reasons, and ``shown``: what was sent and expected, for the log
    and ``authsite explain``; never a secret, a token or a code. ``noted``: whether ``explain`` is
    to find the request, which an error without a statement, of ``noted_by_task``, leaves to a
    background task. With ``authenticated`` it is the client ``client_id`` that sent it.
    """

    summary = ""
    status = 500
    code = "internal_error"
    message: str = _(
        "Something went wrong on our side. Try again, and report it if it keeps happening."
    )
    listed = True
    shown_again = False
    forgets_form = False
    keeps_writes = False
    reason: str | None = None
    audit_event: "Event | None" = None
    audit_details: Mapping[str, str | dict[str, str | None]] | None = None
    audit_subject: str = ""
    members: Mapping[str, object] = MappingProxyType({})
    client_id: UUID | None = None
    why: "DenialReason | None" = None
    shown: Mapping[str, str] = MappingProxyType({})
    noted = True
    noted_by_task = False
    authenticated = False

    def __init__(
        self,
        message: str | None = None,
        *,
        details: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.message = message or type(self).message
        self.details = tuple(details)
        self.headers = dict(headers or {})
        super().__init__(translate(self.message))

    def because(self, why: "DenialReason", **shown: str) -> Self:
        """The same error for the row ``why``, whose text for the developer it tells."""
        self.why, self.shown = why, shown
        self.message = why.description(shown)
        self.args = (self.message,)
        return self


def denied(environ: Mapping[str, Any], status: int) -> ApiError | None:
    """Why a request was denied: its error, or what a view has put at `DENIED`; None for others."""
    found: ApiError | None = environ.get(DENIED)
    if found is None and status >= 400:
        found = environ.get(ERROR_OF_REQUEST)
    return found


class MalformedRequest(ApiError):
    summary = "The request cannot be parsed, or a parameter occurs twice."
    status = 400
    code = "invalid_request"
    message = _("The request could not be read. Check it and send it again.")


class ValidationFailed(ApiError):
    """Fields are missing or wrong; ``details`` has one entry for each."""

    status = 422
    code = "invalid"
    message = _("Some fields are missing or invalid. Correct them and try again.")


class NotFound(ApiError):
    """There is nothing at this path."""

    noted = False

    status = 404
    code = "not_found"
    message = "There is no such endpoint. Check the path against /v1/openapi.json."


class MethodNotAllowed(ApiError):
    """The path exists, but not for this method; ``Allow`` names those it has."""

    noted = False

    status = 405
    code = "method_not_allowed"

    def __init__(self, allowed: Sequence[str]) -> None:
        names = ", ".join(allowed)
        super().__init__(f"This endpoint accepts only {names}.", headers={"Allow": names})


class RequestTimedOut(ApiError):
    summary = "The body did not arrive in time."
    status = 408
    code = "request_timeout"
    message = "The request body did not arrive in time; send it again."


class PayloadTooLarge(ApiError):
    summary = "The body is longer than 64 KiB."
    status = 413
    code = "payload_too_large"
    message = "The request body is larger than 64 KiB; send less."


class UnsupportedMediaType(ApiError):
    """The body's content type is not one this endpoint reads."""

    status = 415
    code = "unsupported_media_type"


class Forbidden(ApiError):
    """The caller is known and may not do this."""

    status = 403
    code = "forbidden"
    message = _("You are not allowed to do this.")


class TemporarilyUnavailable(ApiError):
    summary = "The database or the capacity for password hashing is temporarily unavailable."
    status = 503
    code = "temporarily_unavailable"
    message = _("The service is busy. Try again in a moment.")

    def __init__(self, retry_after: int = 2) -> None:
        super().__init__(headers={"Retry-After": str(retry_after)})
