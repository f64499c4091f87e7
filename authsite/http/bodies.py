"""Reading a body strictly: one string per name, bounded, or a clear refusal.

A view states ``body=Model``; the model is at once what is checked here and what the OpenAPI
document shows. The view finds an instance of it at ``request.given``.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from authsite.db.transaction import writes
from authsite.texts import text as _

from .errors import (
    ApiError,
    FieldError,
    MalformedRequest,
    PayloadTooLarge,
    RequestTimedOut,
    UnsupportedMediaType,
    ValidationFailed,
)

MAX_BODY = 64 * 1024  # bytes
MAX_FIELDS = 100
MAX_DEPTH = 20
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


def _text(limit: int, *, required: bool = True) -> Any:
    return StringConstraints(min_length=1 if required else 0, max_length=limit)


Email = Annotated[
    str, _text(254), Field(json_schema_extra={"format": "email"}, examples=["ann@example.com"])
]
Identifier = Annotated[str, _text(320)]
Password = Annotated[
    str,
    _text(4096),
    Field(json_schema_extra={"format": "password"}, examples=["correct-horse-battery-staple"]),
]
Token = Annotated[str, _text(512)]
Url = Annotated[str, _text(2048), Field(json_schema_extra={"format": "uri"})]
Text = Annotated[str, _text(1024)]
MaybeEmpty = Annotated[str, _text(1024, required=False)]


class Body(BaseModel):
    """The base of request models: strings only, unknown keys ignored, null means absent.

    The words under a field describe it in the OpenAPI document; ``examples`` (a name -> the
    fields to send) are shown there where the fields' own examples do not make one request.
    """

    model_config = ConfigDict(
        extra="ignore", strict=True, frozen=True, use_attribute_docstrings=True
    )
    form_only: ClassVar[bool] = False
    examples: ClassVar[Mapping[str, Mapping[str, str]]] = {}


Model = TypeVar("Model", bound=Body)

WORDS = {
    "required": _("This field is required."),
    "too_long": _("This value is too long."),
    "invalid": _("This value must be one plain string."),
}
_CODES = {
    "missing": "required",
    "string_too_short": "required",
    "string_too_long": "too_long",
}


def read(request: Any, model: type[Model]) -> Model:
    """The body of ``request`` as an instance of ``model``.

    Raises `PayloadTooLarge`, `RequestTimedOut`, `UnsupportedMediaType`, `MalformedRequest` or
    `ValidationFailed`.
    """
    return validate(values_of(request, form_only=model.form_only), model)


def validate(values: dict[str, Any], model: type[Model]) -> Model:
    """``values`` as an instance of ``model``; raises `ValidationFailed`."""
    broken = [
        FieldError("invalid", name, _("This value contains characters that are not text."))
        for name, value in values.items()
        if isinstance(value, str) and name in model.model_fields and not _is_text(value)
    ]
    if broken:
        raise ValidationFailed(details=broken)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ValidationFailed(details=[_field_error(item) for item in error.errors()]) from None


def as_invalid_request(error: ApiError) -> ApiError:
    """``error`` as OAuth endpoints word it: 400 with every mistake named (RFC 6749, 5.2)."""
    if not isinstance(error, ValidationFailed):
        return error
    mistakes = " ".join(f"{item.field}: {item.message}" for item in error.details)
    return MalformedRequest(mistakes)


def body_deriver(view: Any, info: Any) -> Any:
    """The view option ``body=Model``."""
    model = info.options.get("body")
    if model is None:
        return view

    def reading_view(context: Any, request: Any) -> Any:
        try:
            request.given = read(request, model)
        except ApiError as error:
            raise (as_invalid_request(error) if request.speaks == "oauth" else error) from None
        return view(context, request)

    return reading_view


body_deriver.options = ("body",)  # type: ignore[attr-defined]


def attempts(request: Any) -> int | None:
    """How often pyramid_retry may run ``request``: None for as often as is set.

    Running it again needs the whole body read and kept before anyone looks at its length. A body
    over the limit, or of unknown length, gets one attempt and stays unread till `read` refuses it;
    one that breaks off gets one attempt too. What only reads has nothing to try again.
    """
    if not writes(request):
        return 1
    length = request.content_length
    if request.is_body_readable and (length is None or length > MAX_BODY):
        return 1
    try:
        request.make_body_seekable()
    except OSError:
        return 1
    return None


def values_of(request: Any, *, form_only: bool) -> dict[str, Any]:
    """What the body says, by name, before any of it is checked against a model."""
    raw = _raw(request)
    kind = request.content_type.strip().lower()  # RFC 9110, section 8.3.1
    if not raw and (not kind or (kind == JSON and not form_only)):
        return {}
    if (request.charset or "utf-8").lower() not in ("utf-8", "utf8"):
        raise UnsupportedMediaType("Send the body in UTF-8.")
    if kind == FORM:
        return _pairs(_form(raw))
    if kind == JSON and not form_only:
        return {name: value for name, value in _json(raw).items() if value is not None}
    accepted = FORM if form_only else f"{FORM} or {JSON}"
    raise UnsupportedMediaType(f"Send the body as {accepted}.")


def _raw(request: Any) -> bytes:
    if (request.content_length or 0) > MAX_BODY:
        raise PayloadTooLarge
    try:
        raw: bytes = request.body_file.read(MAX_BODY + 1)
    except TimeoutError:
        raise RequestTimedOut from None
    except OSError:
        raise MalformedRequest("The body broke off before its end.") from None
    if len(raw) > MAX_BODY:
        raise PayloadTooLarge
    return raw


def _form(raw: bytes) -> list[tuple[str, Any]]:
    try:
        return parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise MalformedRequest(
            f"The form could not be read: send at most {MAX_FIELDS} fields, in percent-encoded "
            "UTF-8."
        ) from None


def _json(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw.decode(), object_pairs_hook=_pairs, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise MalformedRequest("The body is not valid JSON in UTF-8.") from None
    if not isinstance(value, dict):
        raise MalformedRequest("The body must be one JSON object.")
    if _deeper_than(value, MAX_DEPTH):
        raise MalformedRequest(f"The JSON body is nested deeper than {MAX_DEPTH} levels.")
    return value


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise MalformedRequest("A parameter stands in the request more than once.")
    return values


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _deeper_than(value: Any, depth: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    children = value.values() if isinstance(value, dict) else value
    return depth == 0 or any(_deeper_than(child, depth - 1) for child in children)


def _is_text(value: str) -> bool:
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False


def _field_error(item: Any) -> FieldError:
    code = _CODES.get(item["type"], "invalid")
    return FieldError(code, str(item["loc"][0]), WORDS[code])
