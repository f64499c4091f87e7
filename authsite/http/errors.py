"""What can go wrong, in one vocabulary: each error knows its status, code and words.

Rooms subclass `ApiError`; `http.error_views` turns it into the body its path speaks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from authsite.texts import text as _


@dataclass(frozen=True)
class FieldError:
    """One mistake in the input: a stable code, the field (or None) and words for a person."""

    code: str
    field: str | None
    message: str


class ApiError(Exception):
    """The root of all errors that a caller may see.

    ``details`` are listed under ``errors``; without them the error lists itself, unless
    ``listed`` is false (a plain authentication failure lists nothing). ``keeps_writes`` says
    that what was written before it was raised is kept: a revocation, an audit row.
    """

    status = 500
    code = "internal_error"
    message: str = _("Something went wrong on our side. Try again, and report it if it stays.")
    listed = True
    keeps_writes = False

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
        super().__init__(self.message)


class MalformedRequest(ApiError):
    """The request cannot be read at all, or a parameter stands in it twice."""

    status = 400
    code = "invalid_request"
    message = _("The request could not be read.")


class ValidationFailed(ApiError):
    """Fields are missing or wrong; ``details`` has one entry for each."""

    status = 422
    code = "invalid"
    message = _("Some of what was sent needs correcting.")


class NotFound(ApiError):
    """There is nothing at this path."""

    status = 404
    code = "not_found"
    message = "There is nothing here. Check the address against /v1/openapi.json."


class MethodNotAllowed(ApiError):
    """The path exists, but not for this method; ``Allow`` names those it has."""

    status = 405
    code = "method_not_allowed"

    def __init__(self, allowed: Sequence[str]) -> None:
        names = ", ".join(allowed)
        super().__init__(f"This address answers only to {names}.", headers={"Allow": names})


class RequestTimedOut(ApiError):
    """The body did not arrive in time."""

    status = 408
    code = "request_timeout"
    message = "The request body did not arrive in time; send it again."


class PayloadTooLarge(ApiError):
    """The body is longer than 64 KiB."""

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
    message = _("You may not do this.")


class TemporarilyUnavailable(ApiError):
    """Storage or hash capacity is missing for the moment.

    ``retry_after`` in seconds.
    """

    status = 503
    code = "temporarily_unavailable"
    message = _("The service is busy. Try again in a moment.")

    def __init__(self, retry_after: int = 2) -> None:
        super().__init__(headers={"Retry-After": str(retry_after)})
