"""Builds the OpenAPI 3.1 document from the endpoints."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from authsite.platform.http.api_metadata import CLIENT_BASIC, REFRESH_COOKIE, Tag, Text
from authsite.platform.http.bodies import FORM, JSON, Body
from authsite.platform.settings import Settings

from .endpoints import Endpoint, endpoints
from .responses import (
    ERROR_BODIES,
    errors_of,
    failures,
    header_components,
    successes,
)
from .schemas import Key, example_of, name_of, schemas_of, tidied, union_of

BEARER = "bearer"
SCHEMES = {
    BEARER: {
        "type": "http",
        "scheme": "bearer",
        "description": "An access token, from the token endpoint or a first-party login. "
        "A personal access token is accepted, too, unless the error `login_required` names it.",
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
        "description": "Set by a first-party login; scripts cannot read it. On https it counts "
        "only with its witness, the cookie `__Host-authsite-refresh-<client>`.",
    },
}
INTRODUCTION = """\
1. {register}
2. Log in: `POST /v1/clients/{client}/login`. On the page `/docs`, sign in at the top.
3. Call the API with the access token, `Authorization: Bearer <access_token>`: `GET /v1/user`.
4. Protect your own API and pages: the guides in the folder `docs` of authsite."""


def document(registry: Any, server: str) -> dict[str, Any]:
    """The document of the API in ``registry``; ``server`` is the URL that its paths start from."""
    found = endpoints(registry)
    cfg: Settings = registry["authsite"].settings
    schemas, components = schemas_of(key for each in found for key in _types(each, cfg))
    paths: dict[str, Any] = {}
    first: dict[tuple[Any, str], str] = {}
    tags: dict[str, Tag] = {}
    for endpoint in found:
        tags.setdefault(endpoint.tag.name, endpoint.tag)
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
            "description": introduction(cfg),
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": server}],
        "tags": [
            {"name": tag.name, "description": tag.description}
            for tag in sorted(tags.values(), key=lambda tag: tag.place)
        ],
        "paths": paths,
        "components": {
            "schemas": components,
            "headers": header_components(),
            "securitySchemes": SCHEMES,
        },
    }


def introduction(cfg: Settings) -> str:
    """The first steps, for a reader who sees the API for the first time."""
    register = "Register: `POST /v1/register`."
    if not cfg.registration_open:
        register = "Ask the operator of this service for an account."
    elif cfg.confirmation_required:
        register += " Then confirm the address with the link in the mail."
    client = "web" if "web" in cfg.clients or not cfg.clients else min(cfg.clients)
    return INTRODUCTION.format(register=register, client=client)


def _types(endpoint: Endpoint, cfg: Settings) -> list[Key]:
    """The types of the request and response bodies, each with the mode of its schema."""
    types: list[Key] = [(endpoint.body, "validation")] if endpoint.body else []
    if endpoint.body and endpoint.body.one_of:
        types.append((union_of(endpoint.body), "validation"))
    responses = endpoint.operation.responses.values()
    types += [
        (type_, "serialization") for type_ in responses if type_ and not isinstance(type_, Text)
    ]
    if endpoint.error_format in ERROR_BODIES:
        types.append((ERROR_BODIES[endpoint.error_format], "serialization"))
    if endpoint.error_format == "json" and cfg.apiato_errors:
        types.append((ERROR_BODIES["fields"], "serialization"))
    return types


def _operation(
    endpoint: Endpoint, cfg: Settings, schemas: Mapping[Key, Any], components: dict[str, Any]
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.operation_id,
        "tags": [endpoint.tag.name],
        "summary": endpoint.operation.summary,
        "security": _security(endpoint),
    }
    if endpoint.operation.description:
        operation["description"] = endpoint.operation.description
    if parameters := _parameters(endpoint, cfg):
        operation["parameters"] = parameters
    if endpoint.body:
        schema = schemas[endpoint.body, "validation"]
        if endpoint.body.one_of:  # beside all properties, which the page shows as one form
            components[name_of(schema)] |= schemas[union_of(endpoint.body), "validation"]
        operation["requestBody"] = _request_body(endpoint.body, schema, components)
    operation["responses"] = {
        **successes(endpoint.operation, schemas, components),
        **failures(errors_of(endpoint, cfg), endpoint.error_format, cfg.apiato_errors, schemas),
    }
    return operation


def _security(endpoint: Endpoint) -> list[dict[str, list[str]]]:
    if endpoint.rules.guard == "api":
        return [{BEARER: endpoint.rules.scope.split()}]
    if endpoint.operation.credentials:
        return [{endpoint.operation.credentials: []}, {}]
    return []


def _parameters(endpoint: Endpoint, cfg: Settings) -> list[dict[str, Any]]:
    """All parameters of the path, and the declared ones of the query."""
    declared = {"path": endpoint.operation.path, "query": endpoint.operation.query}
    parts: dict[tuple[str, str], dict[str, Any]] = {
        ("path", name): {"schema": {"type": "string"}} for name in endpoint.parameters
    }
    required = {("path", name) for name in endpoint.parameters}
    for where, model in declared.items():
        if model is None:
            continue
        schema = tidied(model.model_json_schema())
        for name, part in schema["properties"].items():
            described = {key: part[key] for key in ("description",) if key in part}
            rest = {key: value for key, value in part.items() if key != "description"}
            if allowed := model.choices(cfg).get(name):
                rest |= {"enum": list(allowed), "default": allowed[0], "examples": [allowed[0]]}
            parts[where, name] = {**described, "schema": rest}
            if name in schema.get("required", ()):
                required.add((where, name))
    return [
        {"name": name, "in": where, "required": (where, name) in required, **part}
        for (where, name), part in parts.items()
    ]


def _request_body(model: type[Body], schema: Any, components: Mapping[str, Any]) -> dict[str, Any]:
    bodies = model.examples or {"example": example_of(schema, components)}
    examples = {name: {"value": dict(value)} for name, value in bodies.items()}
    content = {"schema": schema, "examples": examples}
    kinds = [FORM] if model.form_only else [JSON, FORM]
    required = any(field.is_required() for field in model.model_fields.values())
    return {"required": required, "content": dict.fromkeys(kinds, content)}
