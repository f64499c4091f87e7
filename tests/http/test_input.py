"""Bad values for every field of every endpoint: a clear refusal, nothing changed, never 500."""

import json
from urllib.parse import urlencode

import pytest

from tests.support.endpoints import FORM, JSON, assert_refused, endpoints
from tests.support.site import WEB

ENDPOINTS = endpoints()
NOT_TEXT = "This contains characters that are not text. Remove them."
FIELDS = [
    pytest.param(endpoint, field, id=f"{endpoint} {field}")
    for endpoint in ENDPOINTS
    for field in endpoint.model.model_fields
]
JSON_FIELDS = [item for item in FIELDS if not item.values[0].model.form_only]
# Bodies are read before the database is asked: one kind of database will do.
pytestmark = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
# Both true and false are values of these; an object is one of a `credential`.
FLAGS = ("revoke_tokens", "end_others", "after_password")
each_endpoint = pytest.mark.parametrize("endpoint", ENDPOINTS, ids=str)
each_field = pytest.mark.parametrize(("endpoint", "field"), FIELDS)
each_json_field = pytest.mark.parametrize(("endpoint", "field"), JSON_FIELDS)


@pytest.mark.control("U07")
@pytest.mark.control("T09")
@each_json_field
def test_only_a_string_is_a_value(refusing, unchanged, endpoint, field):
    for value in (0, -1.5, True, False, [], ["x"], {}, {"a": "b"}, [["x"]], 10**400):
        assert_only_a_string(refusing, endpoint, field, value)


def assert_only_a_string(refusing, endpoint, field, value):
    if field == "terms_accepted" and value is True:
        value = 1  # true is a value of this field (tests/signup/test_terms.py)
    if field in FLAGS and isinstance(value, bool):
        value = int(value)
    if field == "credential" and isinstance(value, dict):
        value = [value]
    answer = endpoint.send(refusing, json.dumps(endpoint.good | {field: value}), JSON)
    assert_refused(answer, endpoint, 400 if endpoint.oauth else 422)
    if endpoint.oauth:
        assert answer.json["error"] == "invalid_request"
        assert field in answer.json["message"]
    else:
        assert (field, "invalid") in [(e["field"], e["code"]) for e in answer.json["errors"]]


def assert_not_text(answer, endpoint, field):
    """This is what it says of the field: most would refuse the value for another reason, too."""
    assert_refused(answer, endpoint, 400 if endpoint.oauth else 422)
    if endpoint.oauth:
        assert f"{field}: {NOT_TEXT}" in answer.json["message"]
        assert answer.json["message"].count(f"{field}:") == 1
    else:
        errors = [(each["field"], each["code"], each["message"]) for each in answer.json["errors"]]
        assert [each for each in errors if each[0] == field] == [(field, "invalid", NOT_TEXT)]


@pytest.mark.control("U07")
@each_json_field
def test_what_is_not_text_is_refused(refusing, unchanged, endpoint, field):
    for value in ("a\0b", "\0", "\ud800", "x\udfff"):
        answer = endpoint.send(refusing, json.dumps(endpoint.good | {field: value}), JSON)
        assert_not_text(answer, endpoint, field)


@pytest.mark.control("S13")
@each_field
def test_an_over_long_value_is_refused(refusing, unchanged, endpoint, field):
    for letter in ("x", "\N{EURO SIGN}"):
        value = "x" * 17_000 if field == "credential" else letter * 5000
        answer = endpoint.send(refusing, urlencode(endpoint.good | {field: value}), FORM)
        assert_refused(answer, endpoint, 400 if endpoint.oauth else 422)


@pytest.mark.control("U07")
@pytest.mark.control("P05")
@each_field
def test_bytes_that_are_not_text_are_refused(refusing, unchanged, endpoint, field):
    good = {name: value for name, value in endpoint.good.items() if name != field}
    for raw in ("%00", "a%00b", "%FF", "%C3%28", "%ED%A0%80", "%F5%80%80%80"):
        answer = endpoint.send(refusing, f"{urlencode(good)}&{field}={raw}", FORM)
        if raw.endswith(("%00", "%00b")):
            assert_not_text(answer, endpoint, field)
        else:
            assert_refused(answer, endpoint, 400)


@each_field
def test_a_repeated_parameter_is_refused(refusing, unchanged, endpoint, field):
    for first, second in (("a", "a"), ("", "a"), ("a", "")):
        answer = endpoint.send(refusing, f"{field}={first}&x=y&{field}={second}", FORM)
        assert_refused(answer, endpoint, 400)


@each_json_field
def test_a_repeated_key_is_refused(refusing, unchanged, endpoint, field):
    for first, second in (('"a"', '"a"'), ("null", '"a"')):
        answer = endpoint.send(refusing, f'{{"{field}": {first}, "{field}": {second}}}', JSON)
        assert_refused(answer, endpoint, 400)


@pytest.mark.control("U07")
@each_field
def test_an_uploaded_file_is_no_value(refusing, unchanged, endpoint, field):
    head = f'--x\r\nContent-Disposition: form-data; name="{field}"; filename="a.txt"\r\n\r\n'
    answer = endpoint.send(refusing, f"{head}a\r\n--x--\r\n", "multipart/form-data; boundary=x")
    assert_refused(answer, endpoint, 415)


@each_json_field
def test_null_counts_as_absent(renewed, endpoint, field):
    absent = {name: value for name, value in endpoint.good.items() if name != field}
    first = endpoint.send(renewed(), json.dumps(absent), JSON)
    second = endpoint.send(renewed(), json.dumps(absent | {field: None}), JSON)
    assert (first.status, names(first)) == (second.status, names(second))


@pytest.mark.control("U08")
@each_endpoint
def test_unknown_names_are_ignored_whatever_they_hold(renewed, endpoint):
    extras = {"is_admin": True, "id": 7, "roles": ["x"], "__class__": {}, "": None, "é": "\0"}
    encode, kind = (urlencode, FORM) if endpoint.model.form_only else (json.dumps, JSON)
    first = endpoint.send(renewed(), encode(endpoint.good), kind)
    second = endpoint.send(renewed(), encode(extras | endpoint.good), kind)
    assert (first.status, names(first)) == (second.status, names(second))
    assert first.status_int < 500


def names(answer):
    return sorted(answer.json) if answer.body else []


@pytest.mark.control("U10")
@pytest.mark.parametrize(
    "client_id",
    [
        "",
        "9999999999999999999",
        "-1",
        "1.0",
        "0x1",
        "{6f9619ff-8b86-4d01-b42d-00cf4fc964ff}",
        "urn:uuid:6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
        "6f9619ff8b864d01b42d00cf4fc964ff",
        "6f9619ff-8b86-4d01-b42d-00cf4fc964fg",
        "é" * 36,
        "x" * 36,
        "' OR 1=1 --",
    ],
)
def test_a_client_id_of_another_shape_is_an_unknown_client(refusing, unchanged, client_id):
    form = {"grant_type": "password", "client_id": client_id, "client_secret": "x"}
    secret = {"client_secret": WEB["clients.web.secret"]}
    answer = refusing.http.post("/v1/oauth/token", form | secret, status=401)
    assert answer.json["error"] == "invalid_client"
