"""The pieces of the API's description: marks, curl lines, placeholders, examples."""

import shlex

import pytest
from pyramid.config import Configurator

from authsite.http.answers import answers, stated_by
from authsite.openapi.curl import curl
from authsite.openapi.endpoints import endpoints
from authsite.openapi.marks import as_json, in_line, prose
from authsite.openapi.schemas import example_of, tidied

BEARER = {"bearer": {"type": "http", "scheme": "bearer"}}
BASIC = {"basic": {"type": "http", "scheme": "basic"}}
COOKIE = {"cookie": {"type": "apiKey", "in": "cookie", "name": "refreshToken"}}


def test_prose_is_escaped_and_split_into_paragraphs():
    html = prose("One <b>line</b>,\nand `code <i>`.\n\nTwo.")
    assert html == (
        "<p>One &lt;b&gt;line&lt;/b&gt;,\nand <code>code &lt;i&gt;</code>.</p><p>Two.</p>"
    )
    assert prose("  ") == ""


def test_one_and_two_backticks_are_code():
    assert in_line("`a` and ``b``") == "<code>a</code> and <code>b</code>"
    assert in_line("a ` alone") == "a ` alone"


def test_json_is_escaped_and_coloured():
    html = as_json({"a<b": 'say "1": true', "n": [12, None, True]})
    assert "<b" not in html
    assert '<span class="json-key">&#34;a&lt;b&#34;</span>:' in html
    assert '<span class="json-string">&#34;say \\&#34;1\\&#34;: true&#34;</span>' in html
    assert '<span class="json-word">12</span>' in html
    assert html.count("json-word") == 3


@pytest.mark.parametrize(
    "value", ["a b", "it's", "50%", "a&b=c", "$HOME", "`id`", "a+b", "ä", "a\nb"]
)
def test_a_field_that_a_form_or_a_shell_would_change_is_encoded_and_quoted(value):
    words = shlex.split(curl("POST", "http://localhost/x", {"name": value}).replace("\\\n", ""))
    assert words == ["curl", "http://localhost/x", "--data-urlencode", f"name={value}"]


def test_a_plain_field_stays_plain():
    command = curl("POST", "http://localhost/x", {"email": "ann@example.com"})
    assert command.split() == ["curl", "http://localhost/x", "\\", "-d", "email=ann@example.com"]


def test_the_method_is_named_where_curl_would_take_another():
    assert curl("GET", "/x", {}) == "curl /x"
    assert curl("DELETE", "/x", {}) == "curl -X DELETE /x"
    assert curl("POST", "/x", {}) == "curl -X POST /x"
    assert curl("PUT", "/x", {"a": "b"}).startswith("curl -X PUT /x")
    assert curl("POST", "/x", {"a": "b c"}).startswith("curl /x")


def test_credentials_are_variables_of_the_readers_shell():
    assert '-H "Authorization: Bearer $ACCESS_TOKEN"' in curl("GET", "/x", {}, BEARER)
    assert '-u "$CLIENT_ID:$CLIENT_SECRET"' in curl("POST", "/x", {"a": "b"}, BASIC)
    assert "-u" not in curl("POST", "/x", {"client_id": "c"}, BASIC)
    assert '-d "refresh_token=$REFRESH_TOKEN"' in curl("POST", "/x", {"refresh_token": "rt_1"})
    assert '-b "refreshToken=$REFRESH_TOKEN"' in curl("POST", "/x", {}, COOKIE)


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


@answers({200: None})
def shown(request):
    """Show one thing. It has a number.

    More of it.
    """


def silent(request):
    return None


def found(*routes):
    """The endpoints of an application with these routes and views."""
    config = Configurator()
    config.registry["authsite.prefix"] = ""
    for number, (name, pattern, view, method) in enumerate(routes):
        config.add_route(f"{name}.{number}", pattern)
        config.add_view(view, route_name=f"{name}.{number}", request_method=method)
    config.commit()
    return endpoints(config.registry)


def test_a_pattern_with_an_expression_becomes_a_plain_placeholder():
    [endpoint] = found(("authsite.thing", r"/v1/things/{id:\d{1,9}}/{part}", shown, "GET"))
    assert endpoint.path == "/v1/things/{id}/{part}"
    assert endpoint.parameters == ["id", "part"]
    assert endpoint.words == ("Show one thing", "It has a number.\n\nMore of it.")


def test_pages_and_foreign_routes_are_no_endpoints():
    assert (
        found(("authsite.page", "/page", silent, "GET"), ("host.it", "/v1/it", shown, "GET")) == []
    )


def test_a_described_view_outside_v1_is_an_endpoint_too():
    [endpoint] = found(("authsite.health", "/healthz", shown, "GET"))
    assert (endpoint.path, endpoint.style) == ("/healthz", "page")


def test_every_method_of_a_view_is_an_endpoint_and_head_is_none():
    both = found(("authsite.two", "/v1/two", silent, ("GET", "HEAD", "POST")))
    assert [(each.method, each.operation_id) for each in both] == [
        ("GET", "get_two_0"), ("POST", "post_two_0"),
    ]  # fmt: skip


def test_a_view_that_states_nothing_answers_nothing_known():
    assert stated_by(silent).bodies == {}
    assert stated_by(shown).bodies == {200: None}
