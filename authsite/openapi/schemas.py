"""JSON Schemas (2020-12, as OpenAPI 3.1 has them) of request models and answers."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import TypeAdapter

Mode = Literal["validation", "serialization"]
Key = tuple[Any, Mode]
_REF = "#/components/schemas/"


def schemas_of(types: Iterable[Key]) -> tuple[dict[Key, Any], dict[str, Any]]:
    """For each type its schema (mostly a reference), and the components these refer to."""
    keys = list(dict.fromkeys(types))
    inputs = [(number, mode, TypeAdapter(type_)) for number, (type_, mode) in enumerate(keys)]
    by_number, definitions = TypeAdapter.json_schemas(inputs, ref_template=f"{_REF}{{model}}")
    schemas = {keys[number]: tidied(schema) for (number, _mode), schema in by_number.items()}
    components = {name: tidied(schema) for name, schema in definitions.get("$defs", {}).items()}
    return schemas, components


def tidied(schema: Any) -> Any:
    """Without made-up titles and null defaults, and with ``type: [string, "null"]`` in short."""
    if isinstance(schema, list):
        return [tidied(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    tidy = {}
    for name, value in schema.items():
        if name in ("properties", "$defs"):
            tidy[name] = {key: tidied(each) for key, each in value.items()}
        elif name in ("examples", "enum", "const"):
            tidy[name] = value
        elif name != "title" and not (name == "default" and value is None):
            tidy[name] = tidied(value)
    return _nullable(tidy)


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    null = {"type": "null"}
    choices = schema.get("anyOf", [])
    others = [choice for choice in choices if choice != null]
    if null not in choices or len(others) != 1 or "type" not in others[0]:
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return {**others[0], "type": [others[0]["type"], "null"], **rest}


def example_of(schema: Mapping[str, Any], components: Mapping[str, Any]) -> Any:
    """An example of ``schema``: the stated one, else one of what it requires or shows."""
    if "$ref" in schema:
        return example_of(components[schema["$ref"].removeprefix(_REF)], components)
    if schema.get("examples"):
        return schema["examples"][0]
    if "const" in schema:
        return schema["const"]
    types = schema.get("type", "object")
    if "null" in types:
        return None
    if types == "object":
        return {
            name: example_of(part, components)
            for name, part in schema.get("properties", {}).items()
            if name in schema.get("required", ()) or part.get("examples")
        }
    if types == "array":
        return [example_of(schema["items"], components)]
    return {"boolean": True, "integer": 1, "number": 1}.get(types, "text")
