"""Bodies that are wrong as a whole: their type, encoding, size, depth and number of fields."""

import json
from urllib.parse import urlencode

import pytest
from webtest import TestApp

from tests.support.endpoints import FORM, JSON, assert_refused, endpoints

REGISTER = {"email": "bo@example.com", "password": "purple wolf 77 tea"}
pytestmark = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
each_endpoint = pytest.mark.parametrize("endpoint", endpoints(), ids=str)


NOT_OBJECTS = [
    b"null",
    b"[]",
    b'"x"',
    b"1",
    b"{",
    b"{}x",
    b'{"email": NaN}',
    b'{"email": -Infinity}',
    b'{"email": "\xff"}',
    b'{"email": "a\nb"}',
    b"\xef\xbb\xbf{}",
    '{"email": "a"}'.encode("utf-16"),
    b'{"n": ' + b"9" * 5000 + b"}",
    b'{"deep": ' + b"[" * 21 + b"]" * 21 + b"}",
    b"[" * 30000,
    b'{"a":' * 10000,
]
OTHER_TYPES = [
    "text/plain",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/x-www-form-urlencoded; charset=latin-1",
    "application/x-www-form-urlencoded; charset=utf-16",
    "application/json; charset=utf-7",
    "nonsense",
    "application/x-www-form-urlencoded, application/json",
]


@each_endpoint
def test_what_is_not_a_json_object_is_refused(refusing, unchanged, endpoint):
    for body in NOT_OBJECTS:
        answer = endpoint.send(refusing, body, JSON)
        assert_refused(answer, endpoint, 415 if endpoint.model.form_only else 400)


@pytest.mark.control("S12")
@each_endpoint
def test_another_content_type_is_415(refusing, unchanged, endpoint):
    for content_type in OTHER_TYPES:
        answer = endpoint.send(refusing, b"a=b", content_type)
        assert_refused(answer, endpoint, 415)
        if endpoint.oauth:
            assert answer.json["error"] == "invalid_request"


FORM_ONLY = ("/v1/oauth/", "/v1/passkeys/")  # a client authenticates as at the token endpoint


@pytest.mark.control("T05")
@each_endpoint
def test_json_is_for_all_but_the_endpoints_of_oauth(renewed, endpoint):
    answer = endpoint.send(renewed(), json.dumps(endpoint.good), JSON)
    assert endpoint.model.form_only == endpoint.path.startswith(FORM_ONLY)
    assert (answer.status_int == 415) == endpoint.model.form_only


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", '"utf-8"', "utf8"])
def test_utf_8_may_be_said(renewed, charset):
    content_type = f"application/json; charset={charset}"
    http = renewed().http
    http.post("/v1/register", json.dumps(REGISTER), content_type=content_type, status=201)


def test_a_form_has_utf_8_as_it_is_or_percent_encoded(renewed):
    """``curl -d`` sends what was typed; browsers encode it (WHATWG URL, section 5.1)."""
    http = renewed().http
    for name, written in (("Zo\u00eb Gr\u00fcn", "Zo\u00eb+Gr\u00fcn"), ("Gr\u00fcn", "Gr%C3%BCn")):
        email = f"{len(written)}@example.com"
        form = f"email={email}&password=purple wolf 77 tea&name={written}"
        answer = http.post("/v1/register", form.encode(), content_type=FORM, status=201)
        assert answer.json["name"] == name
    for written in (b"name=\xff", b"name=%ff", b"name=Gr\xfcn"):
        answer = http.post("/v1/register", written, content_type=FORM, status=400)
        assert "UTF-8" in answer.json["message"]


@pytest.mark.control("S13")
@pytest.mark.parametrize("size", [64 * 1024 + 1, 10_000_000])
@each_endpoint
def test_a_body_over_64_kib_is_413(refusing, unchanged, endpoint, size):
    for content_type in (FORM, JSON, "text/plain"):
        answer = endpoint.send(refusing, b"a=" + b"x" * (size - 2), content_type)
        assert_refused(answer, endpoint, 413)
        if endpoint.oauth:
            assert answer.json["error"] == "invalid_request"


@pytest.mark.control("S13")
def test_a_body_of_64_kib_is_read(renewed):
    filled = urlencode(REGISTER | {"x": ""})
    filled += "x" * (64 * 1024 - len(filled))
    renewed().http.post("/v1/register", filled, status=201)


@pytest.mark.control("S13")
@pytest.mark.parametrize("length", [None, "x", "-1"])
def test_the_size_is_counted_and_not_only_declared(refusing, unchanged, length):
    def chunked(environ, start_response):
        # As a server hands over a chunked body: its end is known, its length is not.
        environ["wsgi.input_terminated"] = True
        environ.pop("CONTENT_LENGTH")
        if length is not None:
            environ["CONTENT_LENGTH"] = length
        return refusing.app(environ, start_response)

    body = b"a=" + b"x" * 70_000
    answer = TestApp(chunked).post("/v1/register", body, content_type=FORM, status="*")
    assert answer.status_int in (400, 413, 422)


@pytest.mark.control("S13")
@each_endpoint
def test_more_than_100_fields_are_refused(refusing, unchanged, endpoint):
    body = "&".join(f"f{number}=1" for number in range(101))
    assert_refused(endpoint.send(refusing, body, FORM), endpoint, 400)


@pytest.mark.control("S13")
def test_json_may_be_20_levels_deep_and_no_deeper(renewed):
    site = renewed()

    def register(levels):
        nested = "x"
        for _ in range(levels - 1):
            nested = [nested]
        return site.http.post_json("/v1/register", REGISTER | {"x": nested}, status="*").status_int

    assert [register(21), register(20)] == [400, 201]


@pytest.mark.control("U10")
@pytest.mark.parametrize("text", ["%ff", "%C0%80", "a%80b"])
@pytest.mark.parametrize("path", ["/v1/{}", "/v1/clients/{}/login", "/v1/oauth/{}", "/{}"])
def test_a_path_that_is_not_utf_8_is_a_bad_request(refusing, unchanged, path, text):
    refusing.http.reset()  # a jar with cookies reads the path too, and fails
    answer = refusing.http.get(path.format(text), status=400)
    if path.startswith(("/v1/clients", "/v1/oauth")):
        assert answer.json["error"] == "invalid_request"
    elif path.startswith("/v1"):
        assert [item["code"] for item in answer.json["errors"]] == ["invalid_request"]


@each_endpoint
def test_rubbish_in_the_query_is_no_bug(refusing, endpoint):
    for query in ("%ff", "a=%ff", "a=%00", "&&&", "=", "a=1&a=2", "%"):
        answer = refusing.http.request(
            f"{endpoint.path}?{query}",
            method=endpoint.method,
            body=urlencode(endpoint.good).encode(),
            content_type=FORM,
            status="*",
        )
        assert answer.status_int < 500, query
