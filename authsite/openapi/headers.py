"""The headers of responses (OpenAPI 3.1, section 4.8.21)."""

from collections.abc import Mapping, Sequence
from typing import Any

from authsite.http.api_metadata import Headers, ResponseHeader
from authsite.http.errors import ApiError
from authsite.http.headers import API_HEADERS, NOT_STORED

EXAMPLE_REQUEST_ID = "0f8b1c6e5d7a4b3f9e2c8a1d6b5f4e3c"
_REF = "#/components/headers/"
_REQUEST_ID = {
    "X-Request-Id": ResponseHeader(
        "The id of the request, which the log has as well.", EXAMPLE_REQUEST_ID
    )
}
_NOT_STORED = {
    name: ResponseHeader("No cache may store the response (RFC 6749, section 5.1).", value)
    for name, value in NOT_STORED
}
_OF_ERRORS = {
    "WWW-Authenticate": "How to authenticate (RFC 6750, section 3; RFC 7617).",
    "Retry-After": "Seconds until a new attempt (RFC 9110, section 10.2.3).",
    "X-Auth-Login-Url": "The URL of the login page, which leads back to the page.",
}
SECURITY_HEADERS = ", ".join(f"`{name}`" for name, _value in API_HEADERS.values())


def components() -> dict[str, Any]:
    """The headers that responses refer to."""
    return {name: _described(each) for name, each in {**_REQUEST_ID, **_NOT_STORED}.items()}


def headers_of(own: Headers) -> dict[str, Any]:
    """The headers of a response: its ``own``, and those of all responses.

    A response with a ``Cache-Control`` of its own may be stored.
    """
    shared = _REQUEST_ID if "Cache-Control" in own else {**_REQUEST_ID, **_NOT_STORED}
    references = {name: {"$ref": f"{_REF}{name}"} for name in shared}
    return {**references, **{name: _described(each) for name, each in own.items()}}


def headers_of_errors(errors: Sequence[ApiError]) -> Mapping[str, ResponseHeader]:
    """The headers of ``errors``, which have one status."""
    return {
        name: ResponseHeader(
            _OF_ERRORS[name],
            value,
            # A client that sent its secret in the body gets no challenge (RFC 6749, section 5.2).
            always=all(name in each.headers for each in errors) and not value.startswith("Basic"),
        )
        for error in errors
        for name, value in error.headers.items()
    }


def _described(header: ResponseHeader) -> dict[str, Any]:
    number = header.example.isdecimal()
    return {
        "description": header.description,
        "required": header.always,
        "schema": {"type": "integer" if number else "string"},
        "example": int(header.example) if number else header.example,
    }
