"""Read the names and values of a request's body: a form, or a JSON object."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from authsite.platform.request_state import Request

from .errors import MalformedRequest, PayloadTooLarge, RequestTimedOut, UnsupportedMediaType

MAX_BODY = 64 * 1024  # bytes
MAX_FIELDS = 100
MAX_DEPTH = 20
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"

Value = TypeVar("Value")


def values_of(request: Request, *, form_only: bool, json_only: bool = False) -> Mapping[str, Any]:
    """The names and values in the body, not yet validated."""
    raw = _read_bytes(request)
    if request.environ.get("CONTENT_TYPE") == FORM and not json_only:  # nothing else to parse
        return _without_duplicates(_parse_form(raw))
    media_type = media_type_of(request)
    # Programs name the type of a form with an empty body, too: no field is needed here.
    if not raw and (not media_type or json_only or (media_type == JSON and not form_only)):
        return {}
    if (request.charset or "utf-8").lower() not in ("utf-8", "utf8"):
        raise UnsupportedMediaType("Send the body in UTF-8.")
    if media_type == FORM and not json_only:
        return _without_duplicates(_parse_form(raw))
    if media_type == JSON and not form_only:
        return {name: value for name, value in _parse_json(raw).items() if value is not None}
    accepted = FORM if form_only else JSON if json_only else f"{FORM} or {JSON}"
    raise UnsupportedMediaType(f"Send the body as {accepted}.")


def media_type_of(request: Request) -> str:
    """The media type of the body; it is case-insensitive (RFC 9110, section 8.3.1)."""
    return request.content_type.strip().lower()


def form_pairs(request: Request) -> list[tuple[str, str]]:
    """The names and values of a form, also those that are there more than once."""
    raw = _read_bytes(request)
    if raw and media_type_of(request) != FORM:
        raise UnsupportedMediaType(f"Send the body as {FORM}.")
    return _parse_form(raw)


def _read_bytes(request: Request) -> bytes:
    if (request.content_length or 0) > MAX_BODY:
        raise PayloadTooLarge
    try:
        if request.is_body_seekable:
            request.make_body_seekable()  # rewinds it: an earlier attempt may have read it
        raw: bytes = request.body_file.read(MAX_BODY + 1)
    except TimeoutError:
        raise RequestTimedOut from None
    except OSError:
        raise MalformedRequest(
            "The body broke off before its end; send the request again."
        ) from None
    if len(raw) > MAX_BODY:
        raise PayloadTooLarge
    return raw


def _parse_form(raw: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            raw.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise MalformedRequest(
            f"The form could not be read: send at most {MAX_FIELDS} fields, in UTF-8."
        ) from None


def _parse_json(raw: bytes) -> dict[str, object]:
    try:
        value = json.loads(
            raw.decode(), object_pairs_hook=_without_duplicates, parse_constant=_reject_constant
        )
    except (ValueError, RecursionError):
        raise MalformedRequest(
            "The body is not valid JSON in UTF-8; send one JSON object."
        ) from None
    if not isinstance(value, dict):
        raise MalformedRequest("The body must be one JSON object.")
    if _deeper_than(value, MAX_DEPTH):
        raise MalformedRequest(
            f"The JSON body is nested deeper than {MAX_DEPTH} levels; send fewer."
        )
    return value


def _without_duplicates(pairs: Sequence[tuple[str, Value]]) -> dict[str, Value]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise MalformedRequest("A parameter appears more than once; send each once.")
    return values


def _reject_constant(constant: str) -> None:
    """Reject NaN and the infinities, which are not JSON (RFC 8259, section 6)."""
    raise ValueError(constant)


def _deeper_than(value: object, depth: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    children = value.values() if isinstance(value, dict) else value
    return depth == 0 or any(_deeper_than(child, depth - 1) for child in children)
