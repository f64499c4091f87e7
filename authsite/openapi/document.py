"""The OpenAPI 3.1 document, made of the endpoints as they stand."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from authsite.http.answers import CLIENT_BASIC, REFRESH_COOKIE
from authsite.http.bodies import FORM, JSON, Body

from .endpoints import Endpoint, endpoints
from .refusals import refusals
from .responses import ERROR_BODIES, failures, successes
from .schemas import Key, example_of, schemas_of, tidied

BEARER = "bearer"
SCHEMES = {
    BEARER: {
        "type": "http",
        "scheme": "bearer",
        "description": "An access token, from the token endpoint or a first-party login.",
    },
    CLIENT_BASIC: {
        "type": "http",
        "scheme": "basic",
        "description": "The client's id and secret (RFC 6749, section 2.3.1), instead of "
        "`client_id` and `client_secret` in the body.",
    },
    REFRESH_COOKIE: {
        "type": "apiKey",
        "in": "cookie",
        "name": "refreshToken",
        "description": "Set by a first-party login; scripts cannot read it.",
    },
}
INTRODUCTION = """\
OAuth 2.0 tokens, users, and guards for your own API.

Get an access token from the token endpoint, or from the login of a first-party client, and send \
it as `Authorization: Bearer <access_token>`. When it expires, the refresh token gets you the next \
pair.

Bodies are JSON or forms; the OAuth endpoints take forms only, up to 64 KiB. Times are UTC as RFC \
3339 writes them, ids are UUIDs.

Every answer carries an `X-Request-Id`. Errors are JSON with a stable code and words for a person; \
besides those listed, any address may answer 405 (with `Allow`) and, if something is broken, 500 \
with the request id to report."""


def document(registry: Any, server: str) -> dict[str, Any]:
    """The document of the API of ``registry``, whose paths stand below the URL ``server``."""
    found = endpoints(registry)
    cfg = registry["authsite.settings"]
    schemas, components = schemas_of(key for each in found for key in _types(each))
    paths: dict[str, Any] = {}
    first: dict[tuple[Any, str], str] = {}
    tags: dict[str, str] = {}
    for endpoint in found:
        title, sentence = endpoint.room
        tags.setdefault(title, sentence)
        operation = _operation(endpoint, cfg, schemas, components)
        same = first.setdefault((endpoint.view, endpoint.method), endpoint.operation_id)
        if same != endpoint.operation_id:
            operation["x-alias-of"] = same
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": cfg.site_name,
            "version": version("authsite"),
            "summary": "OAuth 2.0 tokens, users, and guards for your own API",
            "description": INTRODUCTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": server}],
        "tags": [{"name": name, "description": words} for name, words in tags.items()],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": SCHEMES},
    }


def _types(endpoint: Endpoint) -> list[Key]:
    """Every type that the operation shows, and whether it is read or written."""
    answers = endpoint.answers
    types: list[Key] = [(endpoint.body, "validation")] if endpoint.body else []
    types += [(type_, "serialization") for type_ in answers.bodies.values() if type_]
    if endpoint.style in ERROR_BODIES:
        types.append((ERROR_BODIES[endpoint.style], "serialization"))
    return types


def _operation(
    endpoint: Endpoint, cfg: Any, schemas: Mapping[Key, Any], components: Mapping[str, Any]
) -> dict[str, Any]:
    summary, description = endpoint.words
    operation: dict[str, Any] = {
        "operationId": endpoint.operation_id,
        "tags": [endpoint.room[0]],
        "summary": summary,
        "security": _security(endpoint),
    }
    if description:
        operation["description"] = description
    if parameters := _parameters(endpoint):
        operation["parameters"] = parameters
    if endpoint.body:
        schema = schemas[endpoint.body, "validation"]
        operation["requestBody"] = _request_body(endpoint.body, schema, components)
    operation["responses"] = {
        **successes(endpoint.answers, schemas, components),
        **failures(refusals(endpoint, cfg), endpoint.style, schemas),
    }
    return operation


def _security(endpoint: Endpoint) -> list[dict[str, list[str]]]:
    if endpoint.rules.guard == "api":
        return [{BEARER: endpoint.rules.scope.split()}]
    if endpoint.answers.credentials:
        return [{endpoint.answers.credentials: []}, {}]
    return []


def _parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    """The path's parameters, described or not, and the stated ones of the query."""
    stated = {"path": endpoint.answers.path, "query": endpoint.answers.query}
    parts: dict[tuple[str, str], dict[str, Any]] = {
        ("path", name): {"schema": {"type": "string"}} for name in endpoint.parameters
    }
    required = {("path", name) for name in endpoint.parameters}
    for where, model in stated.items():
        if model is None:
            continue
        schema = tidied(model.model_json_schema())
        for name, part in schema["properties"].items():
            described = {key: part[key] for key in ("description",) if key in part}
            rest = {key: value for key, value in part.items() if key != "description"}
            parts[where, name] = {**described, "schema": rest}
            if name in schema.get("required", ()):
                required.add((where, name))
    return [
        {"name": name, "in": where, "required": (where, name) in required, **part}
        for (where, name), part in parts.items()
    ]


def _request_body(model: type[Body], schema: Any, components: Mapping[str, Any]) -> dict[str, Any]:
    stated = model.examples or {"example": example_of(schema, components)}
    examples = {name: {"value": dict(value)} for name, value in stated.items()}
    content = {"schema": schema, "examples": examples}
    kinds = [FORM] if model.form_only else [JSON, FORM]
    required = any(field.is_required() for field in model.model_fields.values())
    return {"required": required, "content": dict.fromkeys(kinds, content)}
