"""The view option ``body=Model``: reads and validates the request's body.

A body is a form or a JSON object with one string, or a `Flag`, for each name. The view finds an
instance of the model at ``request.authsite.validated``, and the OpenAPI document describes it.

The service checks what the model does not know, such as whether a password is weak. It is not asked
while a field is missing or too long. So that one response names all mistakes, the option ``judge``
is a function that then says what it would find wrong with the other fields: see `Judge`.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Annotated, Any, ClassVar, TypeVar
from urllib.parse import parse_qsl

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
)
from pydantic_core import ErrorDetails
from pyramid.interfaces import IViewDeriverInfo
from pyramid.response import Response

from authsite.platform.db.transaction import needs_transaction
from authsite.platform.i18n import _, translate
from authsite.platform.request_state import Request, View, view_options

from .errors import (
    ApiError,
    FieldError,
    MalformedRequest,
    PayloadTooLarge,
    RequestTimedOut,
    UnsupportedMediaType,
    ValidationFailed,
)
from .own_routes import is_own_view

# Read the names and values of a request's body: a form, or a JSON object.


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


def _text(limit: int, *, required: bool = True) -> StringConstraints:
    return StringConstraints(min_length=1 if required else 0, max_length=limit)


@dataclass(frozen=True, slots=True)
class Missing:
    """The error message for a missing or empty field, as a part of the field's annotation.

    If an annotation has several, the last one is used.
    """

    message: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """The error message for a text that does not match the field's ``pattern``: its rule."""

    message: str


Email = Annotated[
    str,
    _text(254),
    Missing(_("Enter your e-mail address.")),
    Field(json_schema_extra={"format": "email"}, examples=["ann@example.com"]),
]
Identifier = Annotated[str, _text(320)]
Password = Annotated[
    str,
    _text(4096),
    Field(json_schema_extra={"format": "password"}, examples=["correct-horse-battery-staple"]),
]
CURRENT_PASSWORD_MISSING = _("Enter your current password.")
# Optional in every model: a user without a password proves who they are in another way.
CurrentPassword = Annotated[Password | None, Missing(CURRENT_PASSWORD_MISSING)]
# Optional, too: it is asked for only in some cases. An empty one is none.
MailCode = Annotated[
    Annotated[str, _text(64, required=False)] | None,
    Field(examples=["WDJB-MJHT"]),
]
NewPassword = Annotated[Password, Missing(_("Choose a password."))]
Short = Annotated[str, _text(64)]
Token = Annotated[str, _text(512)]
Url = Annotated[str, _text(2048), Field(json_schema_extra={"format": "uri"})]
Text = Annotated[str, _text(1024)]
# The value of a checkbox in a form, or ``true`` in JSON.
Consent = Annotated[
    str,
    BeforeValidator(lambda value: "true" if value is True else value),
    _text(8),
    Field(examples=["true"]),
]
MaybeEmpty = Annotated[str, _text(1024, required=False)]
_FLAGS = {"true": True, "false": False}


def _flag(value: object, info: ValidationInfo) -> object:
    return _FLAGS.get(value) if info.context == FORM and isinstance(value, str) else value


# ``true`` or ``false`` of JSON, or the same words in a form.
Flag = Annotated[bool, BeforeValidator(_flag)]


def _add_description(schema: dict[str, Any], model: type["Body"]) -> None:
    schema["description"] = model.description


class Body(BaseModel):
    """Base class of request models.

    A field is a string or a `Flag`. Unknown names are ignored, and a null in JSON means that the
    field is absent. With ``form_only`` the body cannot be JSON. The OpenAPI document shows
    ``description``, and for each field the string under it. ``examples`` maps a name to the fields
    of a whole request. It is for a model whose fields' own examples together are not a valid
    request. ``oauth_codes``: the code of an error at the OAuth endpoints by the name of the field
    that is not valid, and under the empty name that of all others, in place of `invalid_request`.
    """

    model_config = ConfigDict(
        extra="ignore",
        strict=True,
        frozen=True,
        use_attribute_docstrings=True,
        json_schema_extra=_add_description,
    )
    description: ClassVar[str] = ""
    form_only: ClassVar[bool] = False
    json_only: ClassVar[bool] = False
    examples: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    oauth_codes: ClassVar[Mapping[str, str]] = {}
    discriminator: ClassVar[str] = ""
    one_of: ClassVar[Mapping[str, type["Body"]]] = {}


class JsonBody(Body):
    """A body that is JSON alone, with arrays, numbers and flags; an unknown field is an error."""

    model_config = ConfigDict(extra="forbid")
    json_only: ClassVar[bool] = True


Model = TypeVar("Model", bound=Body)
Judge = Callable[[Request, Any], Sequence[FieldError]]
"""The errors of a request that is refused already. It is called with an object that has the valid
fields, with its default a field that is not sent, and None for each other one; ``sent`` has the
names of those that are sent, valid or not. It hashes and writes nothing. What takes processor time
counts the limit of the view where anyone may call it."""

WORDS = {
    "required": _("This field is required."),
    "too_long": _("This is too long. Shorten it."),
    "invalid": _("This must be one plain text."),
}
_CODES = {
    "missing": "required",
    "string_too_short": "required",
    "string_too_long": "too_long",
}
_WORDS_OF_TYPES = {
    "bool_type": _("Give true or false."),
    "list_type": _("This must be a list of texts."),
}
_UNKNOWN = _("There is no such field. Leave it out.")


def read(request: Request, model: type[Body], judge: Judge | None = None) -> Body:
    """Read the body of ``request`` as an instance of ``model``, or of the form that it names.

    Raises `PayloadTooLarge`, `RequestTimedOut`, `UnsupportedMediaType`, `MalformedRequest` or
    `ValidationFailed`.
    """
    values = values_of(request, form_only=model.form_only, json_only=model.json_only)
    if model.one_of:
        model = model.one_of.get(str(values.get(model.discriminator)), model)
    try:
        return validate(values, model, media_type_of(request))
    except ValidationFailed as error:
        raise judged(request, error, values, model, judge) from None


def validate(values: Mapping[str, object], model: type[Model], media_type: str = FORM) -> Model:
    """Make an instance of ``model`` from ``values`` of a body. Raises `ValidationFailed`."""
    fields = model.model_fields
    texts = {name: "".join(_texts(value)) for name, value in values.items() if name in fields}
    if not _is_text("".join(texts.values())):
        message = _("This contains characters that are not text. Remove them.")
        bad = {
            name: FieldError("invalid", name, message)
            for name, value in texts.items()
            if not _is_text(value)
        }
        others = {name: value for name, value in values.items() if name not in bad}
        missing = errors_of(lambda: validate(others, model, media_type))
        found = [item for item in missing if item.field not in bad]
        raise ValidationFailed(details=[*bad.values(), *found])
    try:
        return model.model_validate(values, context=media_type)
    except ValidationError as error:
        first: dict[str | None, FieldError] = {}
        for item in error.errors():  # several of a list, and of a field of several types
            of_field = _field_error(item, model)
            first.setdefault(of_field.field, of_field)
        if None in first:  # pydantic looks at nothing else then
            others = {name: value for name, value in values.items() if _is_text(name)}
            for of_field in errors_of(lambda: validate(others, model, media_type)):
                first.setdefault(of_field.field, of_field)
        raise ValidationFailed(details=list(first.values())) from None


def judged(
    request: Request,
    error: ApiError,
    values: Mapping[str, object],
    model: type[Body],
    judge: Judge | None,
) -> ApiError:
    """``error`` with those of the other fields; each field is named once, in their order."""
    if judge is None or not isinstance(error, ValidationFailed):
        return error
    named = {item.field for item in error.details}
    known = model.model_fields
    sent = frozenset(name for name in known if values.get(name) is not None)
    optional = {name: it.get_default() for name, it in known.items() if not it.is_required()}
    valid = optional | {name: values[name] for name in sent}
    unread = dict.fromkeys(name for name in known if name in named or name not in valid)
    given = SimpleNamespace(**{**valid, **unread}, sent=sent)
    others = [item for item in judge(request, given) if item.field not in named]
    places = {name: place for place, name in enumerate(model.model_fields)}
    found = sorted(
        [*error.details, *others], key=lambda item: places.get(item.field or "", len(places))
    )
    return ValidationFailed(details=found)


def errors_of(check: Callable[[], object]) -> Sequence[FieldError]:
    """The errors with which ``check`` raises `ValidationFailed`, for a `Judge`."""
    try:
        check()
    except ValidationFailed as error:
        return error.details
    return ()


def require_valid(errors: Sequence[FieldError]) -> None:
    """Raise `ValidationFailed` with ``errors``, if there are any."""
    if errors:
        raise ValidationFailed(details=errors)


def as_invalid_request(
    error: ApiError, codes: Mapping[str, str] = MappingProxyType({})
) -> ApiError:
    """Convert a `ValidationFailed` for OAuth endpoints; return any other error unchanged.

    OAuth endpoints name all invalid fields in one text (RFC 6749, section 5.2). ``codes``: see
    `Body.oauth_codes`.
    """
    if not isinstance(error, ValidationFailed):
        return error
    messages = " ".join(f"{item.field}: {translate(item.message)}" for item in error.details)
    converted = MalformedRequest(messages)
    first = error.details[0].field if error.details else None
    converted.code = codes.get(first or "", codes.get("", converted.code))
    return converted


@view_options("body", "judge")
def body_deriver(view: View, info: IViewDeriverInfo) -> View:
    """View deriver for the options ``body`` and ``judge``."""
    model, judge = info.options.get("body"), info.options.get("judge")
    if model is None or not is_own_view(info):
        return view

    def reading_view(context: object, request: Request) -> Response:
        try:
            request.authsite.validated = read(request, model, judge)
        except ApiError as error:
            if request.authsite.error_format == "oauth":
                raise as_invalid_request(error, model.oauth_codes) from None
            raise
        return view(context, request)

    return reading_view


def retry_attempts(request: Request) -> int | None:
    """How many attempts pyramid_retry may make for ``request``; None for its configured number.

    A request without a transaction gets one attempt. A second attempt needs a copy of the whole
    body, so there is also one attempt if the body is too long, of unknown length or incomplete.
    """
    if not needs_transaction(request):
        return 1
    length = request.content_length
    if request.is_body_readable and (length is None or length > MAX_BODY):
        return 1
    try:
        request.make_body_seekable()
    except OSError:
        return 1
    return None


def _texts(value: object) -> Iterator[str]:
    """The texts in a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.items() if isinstance(value, dict) else value:
            yield from _texts(list(each) if isinstance(each, tuple) else each)


def _is_text(value: str) -> bool:
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False


def _field_error(item: ErrorDetails, model: type[Body]) -> FieldError:
    code = _CODES.get(item["type"], "invalid")
    if not item["loc"]:  # the name of a field is not text
        return FieldError(code, None, WORDS[code])
    name = str(item["loc"][0])
    if item["type"] == "extra_forbidden":
        return FieldError(code, name, _UNKNOWN)
    kind = {"missing": Missing, "string_too_short": Missing, "string_pattern_mismatch": Malformed}
    own = kind.get(item["type"])
    metadata = model.model_fields[name].metadata if own else []
    messages = [part.message for part in metadata if isinstance(part, Missing | Malformed)]
    word = _WORDS_OF_TYPES.get(item["type"], WORDS[code])
    return FieldError(code, name, messages[-1] if messages else word)
