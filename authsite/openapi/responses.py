"""The ``responses`` of an operation, and their headers (OpenAPI 3.1, 4.8.16 and 4.8.21)."""

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from authsite.admin.errors import PermissionMissing
from authsite.admin.guard import permission_scope
from authsite.admin.lists import ListQuery, invalid
from authsite.guards.errors import (
    ApplicationNotAllowed,
    EmailNotConfirmed,
    EmailNotVerified,
    InsufficientScope,
    LoginRequired,
    NotAuthenticated,
)
from authsite.platform.http.address import BadHost
from authsite.platform.http.api_metadata import Headers, Message, Operation, ResponseHeader, Text
from authsite.platform.http.bodies import FORM, JSON, WORDS, Body, as_invalid_request, validate
from authsite.platform.http.cross_site import CrossOrigin, is_json_only
from authsite.platform.http.error_bodies import (
    ErrorBody,
    ErrorStyle,
    FieldErrorsBody,
    OAuthErrorBody,
    error_body,
    error_style,
)
from authsite.platform.http.errors import (
    ApiError,
    ErrorFormat,
    FieldError,
    MalformedRequest,
    NotFound,
    PayloadTooLarge,
    RequestTimedOut,
    TemporarilyUnavailable,
    UnsupportedMediaType,
    ValidationFailed,
)
from authsite.platform.http.headers import NOT_STORED, SAFE_METHODS
from authsite.platform.i18n import translate
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.settings import Settings
from authsite.sign_in.errors import PROOF_LIFETIME, DomainNotAllowed, InsufficientUserAuthentication
from authsite.users.errors import UserRequired

from .endpoints import Endpoint
from .schemas import Key, example_of, resolve

ERROR_BODIES = {"json": ErrorBody, "oauth": OAuthErrorBody, "fields": FieldErrorsBody}
# The description of a response whose body is only a message.
_OF_MESSAGE = {200: "The request is completed.", 202: "The request is accepted."}
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


def successes(
    operation: Operation, schemas: Mapping[Key, Any], components: Mapping[str, Any]
) -> dict[str, Any]:
    """The responses that ``operation`` declares, by status."""
    responses: dict[str, Any] = {}
    for status, type_ in operation.responses.items():
        headers = _headers_of(operation.headers.get(status, {}))
        if type_ is None:
            responses[str(status)] = {"description": HTTPStatus(status).phrase, "headers": headers}
            if status == HTTPStatus.FOUND:
                responses[str(status)]["content"] = {"text/plain": {"schema": {"type": "string"}}}
            continue
        if isinstance(type_, Text):
            media = {"schema": {"type": "string"}, "example": type_.example}
            responses[str(status)] = {
                "description": type_.description,
                "headers": headers,
                "content": {type_.media_type: media},
            }
            continue
        schema = schemas[type_, "serialization"]
        meaning = _OF_MESSAGE.get(status) if type_ is Message else None
        responses[str(status)] = {
            "description": meaning or _description(schema, components),
            "headers": headers,
            "content": {JSON: {"schema": schema, "example": example_of(schema, components)}},
        }
    return responses


def _description(schema: Mapping[str, Any], components: Mapping[str, Any]) -> str:
    """The description of a body; of a list, that of its entries."""
    resolved = resolve(schema, components)
    if resolved.get("type") == "array":
        return f"A list. Each entry: {resolve(resolved['items'], components)['description']}"
    return str(resolved["description"])


def failures(
    errors: Sequence[ApiError],
    error_format: ErrorFormat,
    apiato: bool,
    schemas: Mapping[Key, Any],
) -> dict[str, Any]:
    """The responses to ``errors``, by status, each with every case as an example.

    ``apiato``: the setting `apiato-errors`.
    """
    responses: dict[str, Any] = {}
    for status in sorted({error.status for error in errors}):
        same = [each for each in errors if each.status == status]
        style = None if error_format == "html" else error_style(error_format, status, apiato)
        responses[str(status)] = _failure(same, style, schemas)
    return responses


def _failure(
    errors: Sequence[ApiError], style: ErrorStyle | None, schemas: Mapping[Key, Any]
) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": HTTPStatus(errors[0].status).phrase,
        "headers": _headers_of(_headers_of_errors(errors)),
    }
    if style:
        bodies: list[Any] = [error_body(style, error, EXAMPLE_REQUEST_ID) for error in errors]
        narrow = {"oauth": _only_these_errors, "json": _only_these_codes}.get(style)
        schema = schemas[ERROR_BODIES[style], "serialization"]
        response["content"] = {
            JSON: {
                "schema": {"allOf": [schema, *([narrow(bodies)] if narrow else [])]},
                "examples": _examples(errors, bodies),
            }
        }
    return response


def _only_these_errors(bodies: Sequence[Any]) -> dict[str, Any]:
    return {"properties": {"error": {"enum": sorted({body["error"] for body in bodies})}}}


def _only_these_codes(bodies: Sequence[Any]) -> dict[str, Any]:
    codes = sorted({item["code"] for body in bodies for item in body["errors"]})
    if not codes:
        return {"properties": {"errors": {"maxItems": 0}}}
    return {"properties": {"errors": {"items": {"properties": {"code": {"enum": codes}}}}}}


def _examples(errors: Sequence[ApiError], bodies: Sequence[Any]) -> dict[str, Any]:
    examples: dict[str, Any] = {}
    for error, body in zip(errors, bodies, strict=True):
        code = error.details[0].code if error.details else error.code
        name, number = code, 2
        while name in examples:
            name, number = f"{code}_{number}", number + 1
        examples[name] = {"summary": _when(error).replace("`", ""), "value": body}
    return examples


def _when(error: ApiError) -> str:
    """When ``error`` occurs: its first detail, else its own message, else its class's summary."""
    if error.details:
        detail = error.details[0]
        message = translate(detail.message)
        return f"`{detail.field}`: {message}" if detail.field else message
    if error.message != type(error).message:
        return translate(error.message)
    return error.summary


def header_components() -> dict[str, Any]:
    """The headers that responses refer to."""
    return {name: _described(each) for name, each in {**_REQUEST_ID, **_NOT_STORED}.items()}


def _headers_of(own: Headers) -> dict[str, Any]:
    """The headers of a response: its ``own``, and those of all responses.

    A response with its own ``Cache-Control`` may be stored.
    """
    shared = _REQUEST_ID if "Cache-Control" in own else {**_REQUEST_ID, **_NOT_STORED}
    references = {name: {"$ref": f"{_REF}{name}"} for name in shared}
    return {**references, **{name: _described(each) for name, each in own.items()}}


def _headers_of_errors(errors: Sequence[ApiError]) -> Mapping[str, ResponseHeader]:
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
    number = header.example.isdecimal() and not header.may_be_empty
    return {
        "description": header.description,
        "required": header.always,
        "schema": {"type": "integer" if number else "string"},
        "example": int(header.example) if number else header.example,
    }


# The errors that an endpoint may respond with.
#
# They follow from its guard, body and rate limit; its `Operation` declares the others.


class OutsideOfNetworks(NotFound):
    summary = "The client address is outside of `admin-networks`."


class InternalError(ApiError):
    summary = "An error of the service, whose log has the request id."


def errors_of(endpoint: Endpoint, cfg: Settings) -> list[ApiError]:
    """All errors of ``endpoint``; none has 405, since a method of an endpoint is allowed."""
    return [
        BadHost(),
        *_by_guard(endpoint, cfg),
        *_by_permission(endpoint, cfg),
        *_by_origin(endpoint),
        *_by_query(endpoint),
        *_by_body(endpoint),
        *_declared(endpoint, cfg),
        *_by_load(endpoint),
        InternalError(),
    ]


def _declared(endpoint: Endpoint, cfg: Settings) -> Iterator[ApiError]:
    for error in endpoint.operation.errors:
        if error is DomainNotAllowed:
            if cfg.registration == "domains":
                yield DomainNotAllowed(cfg.registration_domains)
        else:
            yield error() if isinstance(error, type) else error


def _by_guard(endpoint: Endpoint, cfg: Settings) -> Iterator[ApiError]:
    rules = endpoint.rules
    if rules.guard is None:
        return
    yield NotAuthenticated(token_sent=True)
    if rules.scope:
        yield InsufficientScope(rules.scope)
    if rules.guard == "api" and not endpoint.options.get("personal_token"):
        yield LoginRequired()
    if rules.guard == "api" and not endpoint.options.get("any_client"):
        yield ApplicationNotAllowed()
    if cfg.confirmation_required:
        if not rules.unconfirmed:
            yield EmailNotConfirmed()
    elif cfg.variant == "A" and rules.verified and cfg.require_email_verification:
        yield UserRequired()
        yield EmailNotVerified()


def _by_permission(endpoint: Endpoint, cfg: Settings) -> Iterator[ApiError]:
    """The errors of the view option ``admin``."""
    permission = endpoint.options.get("admin")
    if permission is None:
        return
    if cfg.admin_networks:
        yield OutsideOfNetworks()
    yield PermissionMissing(permission_scope(permission))
    age = PROOF_LIFETIME if endpoint.options.get("recent") else None
    yield InsufficientUserAuthentication(age, cfg.admin_acr)


def _by_origin(endpoint: Endpoint) -> Iterator[ApiError]:
    """The error of a page of another site; that of a view with a cookie is declared."""
    asks_token = endpoint.rules.guard is not None and not endpoint.rules.anonymous
    if endpoint.method in SAFE_METHODS or asks_token or is_json_only(endpoint.options):
        return
    if "cross_site_error" not in endpoint.options:
        yield CrossOrigin()


def _by_query(endpoint: Endpoint) -> Iterator[ApiError]:
    query = endpoint.operation.query
    if query is not None and issubclass(query, ListQuery):
        yield MalformedRequest()
        yield ValidationFailed(details=[invalid("limit")])


def _by_body(endpoint: Endpoint) -> Iterator[ApiError]:
    model = endpoint.body
    if model is None:
        return
    yield MalformedRequest()
    yield PayloadTooLarge()
    yield RequestTimedOut()
    accepted = FORM if model.form_only else JSON if model.json_only else f"{FORM} or {JSON}"
    yield UnsupportedMediaType(f"Send the body as {accepted}.")
    mandatory, fields = _mandatory(model), list(model.model_fields)
    errors = [
        FieldError(code, [*mandatory, *fields][0], words)
        for code, words in WORDS.items()
        if mandatory or code != "required"
    ]
    if endpoint.error_format == "oauth":
        yield as_invalid_request(ValidationFailed(details=errors[:1]), model.oauth_codes)
    else:
        yield from (ValidationFailed(details=[error]) for error in errors)


def _mandatory(model: type[Body]) -> list[str]:
    """The fields that must not be missing; if all are optional, those that must not be empty."""
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    if required:
        return required
    try:
        validate(dict.fromkeys(model.model_fields, ""), model)
    except ValidationFailed as error:
        return [item.field for item in error.details if item.field and item.code == "required"]
    return []


def _by_load(endpoint: Endpoint) -> Iterator[ApiError]:
    if endpoint.options.get("rate_limit") or endpoint.options.get("admin"):
        yield TooManyAttempts(60)
    # These endpoints use the database.
    if endpoint.rules.guard or endpoint.body or endpoint.operation.errors:
        yield TemporarilyUnavailable()
