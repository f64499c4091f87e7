"""The two error bodies, and which of them a path speaks."""

from typing import NotRequired

from typing_extensions import TypedDict

from .answers import exact
from .errors import ApiError


@exact
class ErrorDetail(TypedDict):
    """One mistake, or what is in the way."""

    code: str
    """Stable: programs compare this."""
    field: str | None
    """The field it is about, or null."""
    message: str
    """For a person."""


@exact
class ErrorBody(TypedDict):
    """An error, everywhere but at the OAuth endpoints."""

    message: str
    """For a person."""
    errors: list[ErrorDetail]
    """Every mistake that was found; empty for a plain authentication failure."""
    request_id: NotRequired[str]
    """With status 500 only: what to report."""


@exact
class OAuthErrorBody(TypedDict):
    """An error at the OAuth endpoints and the proxies (RFC 6749, section 5.2)."""

    error: str
    """Stable: programs compare this."""
    error_description: str
    """For a person."""
    message: str
    """The same as `error_description`."""
    errors: NotRequired[list[ErrorDetail]]
    """The reasons, where there is more to say."""
    request_id: NotRequired[str]
    """With status 500 only: what to report."""


def style_of(path: str) -> str:
    """Which body errors at ``path`` have: ``oauth``, ``house`` or ``page``."""
    if path.startswith(("/v1/oauth/", "/v1/clients/")):
        return "oauth"
    return "house" if path == "/v1" or path.startswith("/v1/") else "page"


def house_body(error: ApiError, request_id: str) -> ErrorBody:
    """``message`` and ``errors``; a bug carries the request id and nothing else."""
    details: list[ErrorDetail] = [
        {"code": item.code, "field": item.field, "message": item.message} for item in error.details
    ]
    if not details and error.listed:
        details = [{"code": error.code, "field": None, "message": error.message}]
    body: ErrorBody = {"message": error.message, "errors": details}
    if error.status == 500:
        body["request_id"] = request_id
    return body


def oauth_body(error: ApiError, request_id: str) -> OAuthErrorBody:
    """``error``, ``error_description`` and ``message`` (RFC 6749, section 5.2)."""
    body: OAuthErrorBody = {
        "error": "invalid_request" if error.status in (408, 413, 415) else error.code,
        "error_description": error.message,
        "message": error.message,
    }
    if error.details:
        body["errors"] = house_body(error, request_id)["errors"]
    if error.status == 500:
        body["request_id"] = request_id
    return body
