"""The ``responses`` of an operation: what it answers, and how it refuses."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from inspect import getdoc
from typing import Any

from authsite.http.answers import Answers
from authsite.http.error_bodies import ErrorBody, OAuthErrorBody, house_body, oauth_body
from authsite.http.errors import ApiError

from .schemas import Key, example_of

JSON = "application/json"
ERROR_BODIES = {"house": ErrorBody, "oauth": OAuthErrorBody}
_BODY_OF = {"house": house_body, "oauth": oauth_body}


def successes(
    answers: Answers, schemas: Mapping[Key, Any], components: Mapping[str, Any]
) -> dict[str, Any]:
    """The responses that ``answers`` states, by status."""
    responses: dict[str, Any] = {}
    for status, type_ in answers.bodies.items():
        response: dict[str, Any] = {"description": _description(status, type_)}
        responses[str(status)] = response
        if type_ is not None:
            schema = schemas[type_, "serialization"]
            example = example_of(schema, components)
            response["content"] = {JSON: {"schema": schema, "example": example}}
    return responses


def failures(errors: Sequence[ApiError], style: str, schemas: Mapping[Key, Any]) -> dict[str, Any]:
    """The responses to ``errors``, by status, each with every case as an example."""
    statuses = sorted({error.status for error in errors})
    return {
        str(status): _failure([each for each in errors if each.status == status], style, schemas)
        for status in statuses
    }


def _failure(errors: Sequence[ApiError], style: str, schemas: Mapping[Key, Any]) -> dict[str, Any]:
    response: dict[str, Any] = {"description": HTTPStatus(errors[0].status).phrase}
    headers = {name: value for error in errors for name, value in error.headers.items()}
    if headers:
        response["headers"] = {
            name: {"schema": {"type": "string"}, "example": value}
            for name, value in headers.items()
        }
    if style in _BODY_OF:
        bodies: list[Any] = [_BODY_OF[style](error, "") for error in errors]
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
    """The case: its mistake, else its own words, else those of its class."""
    if error.details:
        mistake = error.details[0]
        return f"`{mistake.field}`: {mistake.message}" if mistake.field else mistake.message
    if error.message != type(error).message:
        return error.message
    return _sentence(type(error))


def _description(status: int, type_: Any) -> str:
    return HTTPStatus(status).phrase if type_ is None else _sentence(type_)


def _sentence(thing: Any) -> str:
    return " ".join((getdoc(thing) or "").partition("\n\n")[0].split())
