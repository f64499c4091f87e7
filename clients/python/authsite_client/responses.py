"""Bodies of authsite's responses, and the exception for each error response."""

import json

from .connections import Response
from .errors import (
    ApiError,
    FieldError,
    Forbidden,
    InvalidClient,
    InvalidGrant,
    InvalidRequest,
    InvalidScope,
    MfaRequired,
    TemporarilyUnavailable,
    TooManyAttempts,
    Unauthenticated,
    UnauthorizedClient,
    Unreachable,
    UnsupportedGrantType,
    ValidationFailed,
)
from .numbers import is_seconds

_BY_CODE = {
    "invalid_request": InvalidRequest,
    "invalid_client": InvalidClient,
    "invalid_grant": InvalidGrant,
    "mfa_required": MfaRequired,
    "unauthorized_client": UnauthorizedClient,
    "unsupported_grant_type": UnsupportedGrantType,
    "invalid_scope": InvalidScope,
}
_BY_STATUS = {
    401: Unauthenticated,
    403: Forbidden,
    422: ValidationFailed,
    429: TooManyAttempts,
    503: TemporarilyUnavailable,
}


def read_json(response: Response) -> object:
    """The body of a successful response; None if it is empty.

    Raises `ApiError` for another status, and `Unreachable` for a body that is not JSON.
    """
    if not response.is_success:
        raise _error(response)
    if not response.body:
        return None
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError) as error:
        raise Unreachable("the response is not JSON") from error


def _error(response: Response) -> ApiError:
    body = _object(response.body)
    entries = tuple(_field_errors(body.get("errors")))
    oauth_code = _text(body.get("error"))
    code = oauth_code or (entries[0].code if entries else "") or f"status_{response.status}"
    kind = _BY_CODE.get(oauth_code) or _BY_STATUS.get(response.status) or ApiError
    error = kind(response.status, code, _text(body.get("message")) or "(no message)")
    error.errors = entries
    if isinstance(error, MfaRequired):
        _read_step(error, body)
    error.retry_after = response.retry_after
    error.request_id = response.headers.get("X-Request-Id")
    return error


def _read_step(error: MfaRequired, body: dict[str, object]) -> None:
    lifetime, methods = body.get("expires_in"), body.get("mfa_methods")
    error.mfa_token = _text(body.get("mfa_token"))
    error.expires_in = int(lifetime) if is_seconds(lifetime) else 0
    error.methods = tuple(map(_text, methods)) if isinstance(methods, list) else ()
    error.enroll = body.get("mfa_enroll") is True
    options = body.get("passkey_options")
    error.passkey_options = options if isinstance(options, dict) else None


def _object(body: bytes) -> dict[str, object]:
    """The JSON object in ``body``; empty if there is none, as in the page of a proxy."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _field_errors(entries: object) -> list[FieldError]:
    if isinstance(entries, dict):  # field -> messages (the setting apiato-errors)
        return [
            FieldError("", field, _text(message))
            for field, messages in entries.items()
            for message in (messages if isinstance(messages, list) else [])
        ]
    return [
        FieldError(_text(entry.get("code")), entry.get("field"), _text(entry.get("message")))
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict)
    ]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
