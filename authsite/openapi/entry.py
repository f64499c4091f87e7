"""One endpoint of the document, arranged for reading: tables, example requests, answers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from .curl import curl

_MEDIA = {"application/json": "JSON", "application/x-www-form-urlencoded": "form"}


@dataclass(frozen=True, slots=True)
class Row:
    """A parameter or a field."""

    name: str
    type: str
    where: str
    required: bool
    description: str


@dataclass(frozen=True, slots=True)
class Case:
    """One answer: a success, or one way to fail. ``body`` is JSON, or None without one."""

    status: int
    code: str
    description: str
    body: Any = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One endpoint."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    access: str
    media: str
    rows: list[Row]
    requests: dict[str, str]
    answers: list[Case]
    errors: list[Case]
    aliases: list[str] = field(default_factory=list)


def entry_of(
    document: Mapping[str, Any], base_url: str, path: str, method: str, operation: Any
) -> Entry:
    """``operation``, with example requests that begin with ``base_url``."""
    body = operation.get("requestBody")
    content = body["content"] if body else {}
    cases = list(_cases(operation))
    return Entry(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        description=operation.get("description", ""),
        access=_access(operation["security"]),
        media=" or ".join(_MEDIA[kind] for kind in content),
        rows=[*_parameters(operation), *_fields(document, content)],
        requests=_requests(document, base_url, path, method, operation),
        answers=[case for case in cases if case.status < 400],
        errors=[case for case in cases if case.status >= 400],
    )


def _access(security: list[Mapping[str, list[str]]]) -> str:
    names = {
        "bearer": "Bearer token",
        "clientBasic": "Client credentials",
        "refreshCookie": "Refresh token",
    }
    for requirement in security:
        for name, scopes in requirement.items():
            return names[name] + (f" with {' '.join(scopes)}" if scopes else "")
    return ""


def _parameters(operation: Any) -> Iterator[Row]:
    for item in operation.get("parameters", ()):
        yield Row(
            item["name"], _type(item["schema"]), item["in"], item["required"],
            item.get("description", ""),
        )  # fmt: skip


def _fields(document: Mapping[str, Any], content: Mapping[str, Any]) -> Iterator[Row]:
    for media in list(content.values())[:1]:
        schema = _resolved(document, media["schema"])
        for name, part in schema["properties"].items():
            required = name in schema.get("required", ())
            yield Row(name, _type(part), "body", required, part.get("description", ""))


def _type(schema: Mapping[str, Any]) -> str:
    """Such as ``email, max 254``, which is in characters."""
    types = schema.get("type", "string")
    name = types if isinstance(types, str) else next(each for each in types if each != "null")
    name = schema.get("format", name)
    return f"{name}, max {schema['maxLength']}" if "maxLength" in schema else name


def _requests(
    document: Mapping[str, Any], base_url: str, path: str, method: str, operation: Any
) -> dict[str, str]:
    query = {}
    for item in operation.get("parameters", ()):
        example = (item["schema"].get("examples") or [f"<{item['name']}>"])[0]
        path = path.replace(f"{{{item['name']}}}", str(example))
        if item["in"] == "query":
            query[item["name"]] = example
    url = base_url + path + (f"?{urlencode(query)}" if query else "")
    used = [name for requirement in operation["security"] for name in requirement]
    schemes = {name: document["components"]["securitySchemes"][name] for name in used}
    body = operation.get("requestBody")
    if not body:
        return {"": curl(method.upper(), url, {}, schemes)}
    examples = next(iter(body["content"].values()))["examples"]
    return {
        (name if len(examples) > 1 else ""): curl(method.upper(), url, example["value"], schemes)
        for name, example in examples.items()
    }


def _cases(operation: Any) -> Iterator[Case]:
    for code, response in operation["responses"].items():
        media: Any = next(iter(response.get("content", {}).values()), {})
        for example in media.get("examples", {}).values():
            body = example["value"]
            yield Case(int(code), _error_code(body), example["summary"], body)
        if "examples" not in media:
            yield Case(int(code), "", response["description"], media.get("example"))


def _error_code(body: Mapping[str, Any]) -> str:
    """What a program would compare, in either style; nothing for a plain refusal."""
    listed = [item["code"] for item in body.get("errors", ())]
    return str(body.get("error") or next(iter(listed), ""))


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    name = schema["$ref"].rpartition("/")[2]
    return document["components"]["schemas"][name]
