"""The ``responses`` of an operation (OpenAPI 3.1, section 4.8.16): successes and errors."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from authsite.http.api_metadata import Message, Operation
from authsite.http.error_bodies import (
    ErrorBody,
    ErrorFormat,
    ErrorStyle,
    FieldErrorsBody,
    OAuthErrorBody,
    error_body,
    error_style,
)
from authsite.http.errors import ApiError
from authsite.i18n import translate

from .headers import EXAMPLE_REQUEST_ID, headers_of, headers_of_errors
from .schemas import Key, example_of, resolve

JSON = "application/json"
ERROR_BODIES = {"json": ErrorBody, "oauth": OAuthErrorBody, "fields": FieldErrorsBody}
# What a response means whose body is only a message.
_OF_MESSAGE = {200: "The request is completed.", 202: "The request is accepted."}


def successes(
    operation: Operation, schemas: Mapping[Key, Any], components: Mapping[str, Any]
) -> dict[str, Any]:
    """The responses that ``operation`` declares, by status."""
    responses: dict[str, Any] = {}
    for status, type_ in operation.responses.items():
        headers = headers_of(operation.headers.get(status, {}))
        if type_ is None:
            responses[str(status)] = {"description": HTTPStatus(status).phrase, "headers": headers}
            if status == HTTPStatus.FOUND:
                responses[str(status)]["content"] = {"text/plain": {"schema": {"type": "string"}}}
            continue
        schema = schemas[type_, "serialization"]
        meaning = _OF_MESSAGE.get(status) if type_ is Message else None
        responses[str(status)] = {
            "description": meaning or resolve(schema, components)["description"],
            "headers": headers,
            "content": {JSON: {"schema": schema, "example": example_of(schema, components)}},
        }
    return responses


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
        "headers": headers_of(headers_of_errors(errors)),
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
        examples[name] = {"summary": _when(error), "value": body}
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
