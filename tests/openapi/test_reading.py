"""The parts of the OpenAPI document: placeholders, schemas, examples."""

from pyramid.config import Configurator

from authsite.openapi.endpoints import endpoints
from authsite.openapi.schemas import example_of, tidied
from authsite.platform.http.api_metadata import Operation, operation_of
from authsite.platform.http.application import HttpApplication
from authsite.platform.http.error_bodies import ErrorsOption


def test_schemas_lose_made_up_titles_and_keep_fields_named_title():
    schema = {
        "title": "Made up",
        "properties": {
            "title": {"title": "Title", "anyOf": [{"type": "string"}, {"type": "null"}]},
            "size": {"anyOf": [{"type": "integer"}, {"type": "string"}], "default": None},
        },
    }
    assert tidied(schema) == {
        "properties": {
            "title": {"type": ["string", "null"]},
            "size": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        }
    }


def test_an_example_has_what_is_required_and_what_has_an_example_of_its_own():
    schema = {
        "type": "object",
        "required": ["a", "list"],
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "integer", "examples": [7]},
            "c": {"type": "string"},
            "list": {"type": "array", "items": {"$ref": "#/components/schemas/Part"}},
        },
    }
    part = {"type": "object", "required": ["n"], "properties": {"n": {"type": ["string", "null"]}}}
    assert example_of(schema, {"Part": part}) == {"a": "text", "b": 7, "list": [{"n": None}]}


@Operation("Show one thing", {200: None}, description="It has a number.")
def shown(request):
    return None


def silent(request):
    """A docstring is not a text of the document."""
    return None


def found(*routes, **options):
    """The endpoints of an application with these routes and views; ``options`` of each route."""
    config = Configurator()
    config.registry["authsite.http"] = HttpApplication()
    config.add_route_predicate("errors", ErrorsOption)
    for number, (name, pattern, view, method) in enumerate(routes):
        config.add_route(f"{name}.{number}", pattern, **options)
        config.add_view(view, route_name=f"{name}.{number}", request_method=method)
    config.commit()
    return endpoints(config.registry)


def test_a_pattern_with_an_expression_becomes_a_plain_placeholder():
    [endpoint] = found(("authsite.thing", r"/v1/things/{id:\d{1,9}}/{part}", shown, "GET"))
    assert endpoint.path == "/v1/things/{id}/{part}"
    assert endpoint.parameters == ["id", "part"]
    assert endpoint.operation.summary == "Show one thing"
    assert endpoint.operation.description == "It has a number."


def test_pages_and_foreign_routes_are_no_endpoints():
    assert (
        found(("authsite.page", "/page", silent, "GET"), ("host.it", "/v1/it", shown, "GET")) == []
    )


def test_a_described_view_outside_v1_is_an_endpoint_too():
    [endpoint] = found(("authsite.health", "/healthz", shown, "GET"))
    assert (endpoint.path, endpoint.error_format) == ("/healthz", "html")


def test_every_method_of_a_view_is_an_endpoint_and_head_is_none():
    both = found(("authsite.two", "/v1/two", silent, ("GET", "HEAD", "POST")), errors="json")
    assert [(each.method, each.operation_id) for each in both] == [
        ("GET", "get_two_0"), ("POST", "post_two_0"),
    ]  # fmt: skip


def test_a_view_that_states_nothing_answers_nothing_known():
    assert operation_of(silent).responses == {}
    assert operation_of(silent).summary == operation_of(silent).description == ""
    assert operation_of(shown).responses == {200: None}
