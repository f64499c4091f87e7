"""JSON Schemas (2020-12, the dialect of OpenAPI 3.1) of request and response bodies."""

from collections.abc import Iterable, Mapping
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from authsite.platform.http.bodies import Body

Mode = Literal["validation", "serialization"]
Key = tuple[Any, Mode]
_REF = "#/components/schemas/"


def schemas_of(types: Iterable[Key]) -> tuple[dict[Key, Any], dict[str, Any]]:
    """The schema of each type (usually a reference), and the components that they refer to."""
    keys = list(dict.fromkeys(types))
    inputs = [(number, mode, TypeAdapter(type_)) for number, (type_, mode) in enumerate(keys)]
    by_number, definitions = TypeAdapter.json_schemas(inputs, ref_template=f"{_REF}{{model}}")
    schemas = {keys[number]: tidied(schema) for (number, _mode), schema in by_number.items()}
    components = {name: tidied(schema) for name, schema in definitions.get("$defs", {}).items()}
    return schemas, components


def tidied(schema: Any) -> Any:
    """``schema`` without generated titles and null defaults.

    ``anyOf`` of one type and null becomes a list: ``type: [string, "null"]``.
    """
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
    nullable = {**others[0], "type": [others[0]["type"], "null"], **rest}
    if "enum" in nullable:
        nullable["enum"] = [*nullable["enum"], None]
    return nullable


@cache  # one object for each body: `schemas_of` looks it up
def union_of(body: type[Body]) -> Any:
    """The type of a ``body`` of several forms: a union that a field distinguishes."""
    forms: Any = reduce(or_, body.one_of.values())
    return Annotated[forms, Field(discriminator=body.discriminator)]


def name_of(schema: Mapping[str, Any]) -> str:
    """The name of the component that ``schema`` refers to."""
    return str(schema["$ref"]).removeprefix(_REF)


def resolve(schema: Mapping[str, Any], components: Mapping[str, Any]) -> Mapping[str, Any]:
    """The component that ``schema`` refers to; ``schema`` itself if it is not a reference."""
    if "$ref" not in schema:
        return schema
    component: Mapping[str, Any] = components[name_of(schema)]
    return component


def example_of(schema: Mapping[str, Any], components: Mapping[str, Any]) -> Any:
    """The example in ``schema``, else one of its required fields and of those with examples."""
    schema = resolve(schema, components)
    if schema.get("examples"):
        return schema["examples"][0]
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return example_of(schema["anyOf"][0], components)
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
