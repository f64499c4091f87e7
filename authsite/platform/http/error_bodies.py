"""The JSON error bodies."""

from typing import Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from authsite.platform.i18n import translate

from .api_metadata import response_body
from .errors import ApiError

# "fields" replaces "json" for status 422, with the setting `apiato-errors`.
ErrorStyle = Literal["json", "oauth", "fields"]


@response_body("One error.")
class ErrorDetail(TypedDict):
    code: str
    """Machine-readable and stable."""
    field: str | None
    """The field it is about, or null."""
    message: str
    """Human-readable."""


@response_body("An error, except at the OAuth endpoints and the proxies.")
class ErrorBody(TypedDict):
    message: str
    """Human-readable."""
    errors: list[ErrorDetail]
    """All errors; empty for a failed authentication."""
    request_id: NotRequired[str]
    """With status 500 only: the id to report."""


@response_body("An error at the OAuth endpoints and the proxies (RFC 6749, section 5.2).")
class OAuthErrorBody(TypedDict):
    error: str
    """Machine-readable and stable."""
    error_description: str
    """Human-readable."""
    message: str
    """For people; the same as `error_description` if that may have all its characters."""
    errors: NotRequired[list[ErrorDetail]]
    """Details, if there are any."""
    request_id: NotRequired[str]
    """With status 500 only: the id to report."""
    mfa_token: NotRequired[str]
    """With `mfa_required` at a login only: what the second step sends, once right and five times
    wrong at most."""
    expires_in: NotRequired[int]
    """With `mfa_token`: the seconds that it is valid for."""
    mfa_methods: NotRequired[list[str]]
    """With `mfa_token`: what can be given next, one of `passkey`, `totp`, `recovery_code` and
    `email`."""
    mfa_enroll: NotRequired[bool]
    """With `mfa_token`: whether the user must add a second factor now (`/v1/mfa/enroll`)."""
    passkey_options: NotRequired[dict[str, Any]]
    """With `mfa_token`, where a passkey can be given: the options for
    `PublicKeyCredential.parseRequestOptionsFromJSON`."""


@response_body("The invalid fields of a request, as Laravel lists them (setting `apiato-errors`).")
class FieldErrorsBody(TypedDict):
    message: str
    """Human-readable."""
    errors: dict[str, list[str]]
    """The messages of each field; of an error about no field, under its code."""


def error_style(error_format: Literal["json", "oauth"], status: int, apiato: bool) -> ErrorStyle:
    """How an error is written; ``apiato``: the setting `apiato-errors`."""
    return "fields" if apiato and error_format == "json" and status == 422 else error_format


def error_body(
    style: ErrorStyle, error: ApiError, request_id: str
) -> "ErrorBody | OAuthErrorBody | FieldErrorsBody":
    """The body of ``error``."""
    if style == "fields":
        return fields_body(error)
    return (oauth_body if style == "oauth" else json_body)(error, request_id)


def fields_body(error: ApiError) -> FieldErrorsBody:
    """``message``, and the messages of each field, as Laravel responds with status 422."""
    errors: dict[str, list[str]] = {}
    for item in error.details:
        errors.setdefault(item.field or item.code, []).append(translate(item.message))
    message = translate(error.message)
    return {"message": message, "errors": errors or {error.code: [message]}}


def json_body(error: ApiError, request_id: str) -> ErrorBody:
    """``message`` and ``errors``; a bug carries the request id and nothing else."""
    message = translate(error.message)
    details: list[ErrorDetail] = [
        {"code": item.code, "field": item.field, "message": translate(item.message)}
        for item in error.details
    ]
    if not details and error.listed:
        details = [{"code": error.code, "field": None, "message": message}]
    body: ErrorBody = {"message": message, "errors": details}
    if error.status == 500:
        body["request_id"] = request_id
    return body


def oauth_body(error: ApiError, request_id: str) -> OAuthErrorBody:
    """``error``, ``error_description`` and ``message`` (RFC 6749, section 5.2)."""
    message = description = translate(error.message)
    if error.why and error.why.in_answer and not message.isascii():
        description = error.why.description(error.shown)
    body: OAuthErrorBody = {
        "error": "invalid_request" if error.status in (408, 413, 415) else error.code,
        "error_description": description,
        "message": message,
    }
    if error.details:
        body["errors"] = json_body(error, request_id)["errors"]
    if error.status == 500:
        body["request_id"] = request_id
    return cast(OAuthErrorBody, {**body, **error.members})
