"""The ``responses`` of an operation (OpenAPI 3.1, section 4.8.16): successes and errors."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from authsite.http.api_metadata import Operation
from authsite.http.error_bodies import ErrorBody, OAuthErrorBody, json_body, oauth_body
from authsite.http.errors import ApiError
from authsite.i18n import translate

from .headers import EXAMPLE_REQUEST_ID, headers_of, headers_of_errors
from .schemas import Key, example_of, resolve

JSON = "application/json"
ERROR_BODIES = {"json": ErrorBody, "oauth": OAuthErrorBody}
_BODY_OF = {"json": json_body, "oauth": oauth_body}


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
        responses[str(status)] = {
            "description": resolve(schema, components)["description"],
            "headers": headers,
            "content": {JSON: {"schema": schema, "example": example_of(schema, components)}},
        }
    return responses


def failures(errors: Sequence[ApiError], style: str, schemas: Mapping[Key, Any]) -> dict[str, Any]:
    """The responses to ``errors``, by status, each with every case as an example."""
    statuses = sorted({error.status for error in errors})
    return {
        str(status): _failure([each for each in errors if each.status == status], style, schemas)
        for status in statuses
    }


def _failure(errors: Sequence[ApiError], style: str, schemas: Mapping[Key, Any]) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": HTTPStatus(errors[0].status).phrase,
        "headers": headers_of(headers_of_errors(errors)),
    }
    if style in _BODY_OF:
        bodies: list[Any] = [_BODY_OF[style](error, EXAMPLE_REQUEST_ID) for error in errors]
        narrow = _only_these_errors if style == "oauth" else _only_these_codes
        response["content"] = {
            JSON: {
                "schema": {
                    "allOf": [schemas[ERROR_BODIES[style], "serialization"], narrow(bodies)]
                },
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
