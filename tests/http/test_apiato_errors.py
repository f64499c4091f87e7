"""The setting `apiato-errors`: invalid fields as Laravel lists them, and all else as ever."""

import json
from email.message import Message

import pytest

from authsite_client.connections import Response
from authsite_client.responses import read_json
from tests.support.described import Described
from tests.support.site import WEB

# The errors do not depend on the database.
pytestmark = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)

INVALID = "Some fields are missing or invalid. Correct them and try again."


@pytest.fixture
def apiato(site_with):
    """A site with the setting on."""
    return site_with(apiato_errors="on", **WEB)


def test_the_messages_of_each_field_are_in_an_object_and_the_document_says_so(apiato):
    answer = apiato.http.post_json(
        "/v1/register", {"email": "no address", "password": "short"}, status=422
    )
    assert answer.json == {
        "message": INVALID,
        "errors": {
            "email": ["Enter an e-mail address in the format name@example.com."],
            "password": ["Use at least 8 characters."],
        },
    }
    described = Described(apiato)
    response = described.operation("post", "/v1/register")["responses"]["422"]
    schema = response["content"]["application/json"]["schema"]
    assert described.errors(schema, answer.json) == []
    assert described.errors(schema, {"message": "", "errors": []})
    for example in response["content"]["application/json"]["examples"].values():
        assert described.errors(schema, example["value"]) == []


def test_other_errors_and_the_oauth_endpoints_are_as_ever(apiato):
    assert apiato.me("no token", status=401).json["errors"] == []
    assert apiato.http.get("/v1/nothing", status=404).json["errors"][0]["code"] == "not_found"
    refused = apiato.http.post("/v1/oauth/token", {"grant_type": "password"}, status="*")
    assert refused.json["error"] == "invalid_client"
    proxy = apiato.http.post_json("/v1/clients/web/login", {}, status=400).json
    assert proxy["error"] == "invalid_request"


def test_it_is_off_by_default(site):
    answer = site.http.post_json("/v1/register", {"email": "x", "password": "y"}, status=422)
    assert [item["field"] for item in answer.json["errors"]] == ["email", "password"]


def test_the_python_client_reads_both_forms(apiato):
    answer = apiato.http.post_json("/v1/register", {"email": "x", "password": "y"}, status=422)
    with pytest.raises(Exception, match=INVALID) as raised:
        read_json(Response(422, Message(), json.dumps(answer.json).encode()))
    assert [error.field for error in raised.value.errors] == ["email", "password"]
