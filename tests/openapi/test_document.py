"""GET /v1/openapi.json: it says what is there, all of it, and nothing else."""

import json
import re

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from pyramid.interfaces import IRoutesMapper

from tests.support.described import Described
from tests.support.site import MOBILE_APP, WEB

OTHERS = {"GET", "POST", "PUT", "PATCH", "DELETE"}

# As a new reader needs them.
TAGS = (
    "Registration",
    "First-party clients",
    "OAuth 2.0",
    "Account",
    "Second factors and passkeys",
    "E-mail verification",
    "Password recovery",
    "Sign-in with other providers",
    "Connected applications",
    "Personal access tokens",
    "Forward auth",
    "Administration",
    "API description",
)


@pytest.fixture
def described(site):
    return Described(site)


@pytest.fixture(params=["A", "B"])
def either(request, site_with):
    """A site of each variant; B with confirmation required."""
    more = {"variant": "B", "require_email_confirmation": "true"} if request.param == "B" else {}
    return site_with(**more)


def routes_of(site):
    """``(method, path)`` of everything under /v1, from Pyramid's own tables."""
    registry = site.app.registry
    return {
        (method, re.sub(r":[^/}]+\}", "}", route.pattern))
        for route in registry.getUtility(IRoutesMapper).get_routes()
        for method in registry["authsite.http"].methods.get(route.name, ())
        if route.pattern.startswith("/v1/") and method != "HEAD"
    }


def test_every_endpoint_is_in_the_document_and_nothing_else(either):
    described = {(method, path) for method, path, _ in Described(either).operations()}
    routes = routes_of(either)
    assert len(routes) >= 10
    twin = ("DELETE", "/v1/logout")  # of /v1/logout/
    assert twin not in described
    assert {each for each in described if each[1].startswith("/v1/")} | {twin} == routes


def test_a_path_answers_exactly_to_the_methods_in_the_document(site, described):
    for path, item in described.document["paths"].items():
        listed = {method.upper() for method in item}
        for method in OTHERS - listed:
            answer = site.http.request(
                path.replace("{", "").replace("}", ""), method=method, status=405
            )
            assert set(answer.headers["Allow"].split(", ")) - {"HEAD"} == listed, path


def test_the_document_is_valid_openapi_3_1(either):
    document = Described(either).document
    assert document["openapi"].startswith("3.1.")
    OpenAPIV31SpecValidator(document).validate()


def test_every_operation_says_what_it_does_takes_and_answers(either):
    described = Described(either)
    ids = [operation["operationId"] for _, _, operation in described.operations()]
    assert len(ids) == len(set(ids))
    for method, path, operation in described.operations():
        where = f"{method} {path}"
        assert operation["summary"], where
        assert all(item.get("description") for item in operation.get("parameters", ())), where
        good = {code: it for code, it in operation["responses"].items() if int(code) < 400}
        assert good, where
        for code, response in good.items():
            assert response["description"], where
            content = response.get("content", {})
            assert code in ("204", "302", "304") or content, where
            assert all("schema" in media for media in content.values()), where


def test_every_error_says_when_it_occurs(either):
    for method, path, operation in Described(either).operations():
        for code, response in operation["responses"].items():
            for media in response.get("content", {}).values():
                examples = media.get("examples", {}).items()
                without = [name for name, example in examples if not example["summary"]]
                assert without == [], f"{method} {path} {code}"


def test_every_field_that_is_read_or_answered_is_explained(either):
    described = Described(either)
    for name, schema in described.document["components"]["schemas"].items():
        assert schema["description"], name
        if name == "Description":
            continue
        for field, part in schema["properties"].items():
            assert part.get("description"), f"{name}.{field}"


def test_no_schema_is_named_after_a_module(described):
    """Two models of one name get the names of their modules before it."""
    assert not [name for name in described.document["components"]["schemas"] if "__" in name]


def test_every_tag_is_explained(described):
    tags = {tag["name"]: tag["description"] for tag in described.document["tags"]}
    assert all(tags.values())
    assert {tag for _, _, operation in described.operations() for tag in operation["tags"]} == set(
        tags
    )


def test_m18_the_tags_are_in_the_order_of_a_new_reader_and_none_is_forgotten(described):
    names = [tag["name"] for tag in described.document["tags"]]
    assert names == [each for each in TAGS if each != "Administration" or each in names]


def test_m18_no_example_is_a_word_that_stands_for_nothing(described):
    operations = json.dumps([each for _, _, each in described.operations()])
    assert '"text"' not in operations.replace('"text":', "")  # a field may have this name


def test_m18_no_field_is_called_required_that_may_be_missing(described):
    paths, mail = described.document["paths"], "/v1/email/verification-notification"
    examples = paths["/v1/user"]["patch"]["responses"]["422"]["content"]["application/json"][
        "examples"
    ]
    assert set(examples) == {"too_long", "invalid", "taken"}
    missing = paths[mail]["post"]["responses"]["422"]["content"]["application/json"]
    assert "required" in missing["examples"]  # an empty address


def test_m18_a_response_with_a_message_is_completed_or_accepted_never_both(described):
    says = {
        path: {status: each["description"] for status, each in responses.items() if status < "300"}
        for path in ("/v1/user/password", "/v1/user/email")
        for responses in [described.document["paths"][path]["put"]["responses"]]
    }
    assert says["/v1/user/password"] == {"200": "The request is completed."}
    assert says["/v1/user/email"] == {"202": "The request is accepted."}


def test_every_example_fits_its_schema(either):
    described = Described(either)
    checked = 0
    for method, path, operation in described.operations():
        bodies = [operation["requestBody"]] if "requestBody" in operation else []
        for body in [*bodies, *operation["responses"].values()]:
            for media in body.get("content", {}).values():
                values = [each["value"] for each in media.get("examples", {}).values()]
                values += [media["example"]] if "example" in media else []
                for value in values:
                    assert described.errors(media["schema"], value) == [], f"{method} {path}"
                    checked += 1
    assert checked > 50


def test_an_alias_names_the_endpoint_it_is_the_same_as(described):
    assert described.operation("GET", "/v1/profile")["x-alias-of"] == "get_user"
    assert described.operation("DELETE", "/v1/logout/")["operationId"] == "delete_logout"
    assert "x-alias-of" not in described.operation("GET", "/v1/user")


def test_the_security_schemes_are_bearer_client_basic_and_the_refresh_cookie(described):
    schemes = described.document["components"]["securitySchemes"]
    assert {(it["type"], it.get("scheme"), it.get("name")) for it in schemes.values()} == {
        ("http", "bearer", None),
        ("http", "basic", None),
        ("apiKey", None, "refreshToken"),
    }
    assert described.operation("GET", "/v1/user")["security"] == [{"bearer": []}]
    assert described.operation("POST", "/v1/oauth/token")["security"] == [{"clientBasic": []}, {}]
    refresh = described.operation("POST", "/v1/clients/{client}/refresh")
    assert refresh["security"] == [{"refreshCookie": []}, {}]
    assert described.operation("POST", "/v1/register")["security"] == []


BROWSERS = ("/v1/guard/web", "/v1/guard/any")


def test_a_guarded_endpoint_announces_the_guards_refusal_and_its_challenge(described):
    for method, path, operation in described.operations():
        # Forward auth challenges a browser whose session is not enough (RFC 9470).
        # A link needs a token only where it completes a change of address.
        of_some = (*BROWSERS, "/v1/email/verify/{user_id}/{hash}")
        guarded = {"bearer": []} in operation["security"] or path in of_some
        challenge = operation["responses"].get("401", {}).get("headers", {}).get("WWW-Authenticate")
        assert guarded == ("Bearer" in str(challenge)), f"{method} {path}"


def test_the_token_endpoint_takes_forms_only_and_the_others_json_too(described):
    def kinds(path):
        return set(described.operation("POST", path)["requestBody"]["content"])

    form, json = "application/x-www-form-urlencoded", "application/json"
    assert kinds("/v1/oauth/token") == {form}
    assert kinds("/v1/register") == {form, json}


def test_limits_on_length_are_those_of_the_request_models(described):
    fields = described.document["components"]["schemas"]["RegisterBody"]["properties"]
    assert fields["email"]["maxLength"] == 254
    assert fields["password"]["maxLength"] == 4096
    assert fields["username"]["type"] == ["string", "null"]


def test_errors_are_worded_as_the_path_speaks(described):
    def error(path, status):
        response = described.operation("POST", path)["responses"][status]
        return response["content"]["application/json"]["schema"]["allOf"][0]["$ref"]

    assert error("/v1/oauth/token", "400").endswith("/OAuthErrorBody")
    assert error("/v1/clients/{client}/login", "400").endswith("/OAuthErrorBody")
    assert error("/v1/register", "422").endswith("/ErrorBody")


def test_the_document_may_be_kept_for_minutes_and_is_not_sent_twice(site):
    first = site.http.get("/v1/openapi.json")
    assert first.headers["Cache-Control"] == "public, max-age=300"
    assert first.content_type == "application/json"
    again = site.http.get("/v1/openapi.json", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_int, again.body) == (304, b"")


def test_the_document_is_the_same_whatever_host_was_asked(site):
    usual = site.http.get("/v1/openapi.json")
    strange = site.http.get("/v1/openapi.json", headers={"Host": "evil.example"})
    assert strange.body == usual.body
    assert usual.json["servers"] == [{"url": "/"}]


def test_the_document_names_the_base_url_that_is_set(site_with):
    site = site_with(base_url="https://auth.example.org/id")
    assert Described(site).document["servers"] == [{"url": "https://auth.example.org/id"}]


def test_the_clients_to_choose_from_are_those_of_the_settings(site_with):
    def parameter(**settings):
        described = Described(site_with(**settings))
        [found] = described.operation("POST", "/v1/clients/{client}/login")["parameters"]
        return found["schema"]

    assert "enum" not in parameter()
    assert parameter()["examples"] == ["web"]
    both = parameter(**MOBILE_APP, **WEB)
    assert both["enum"] == ["web", "mobile_app"]
    assert (both["default"], both["examples"]) == ("web", ["web"])
    assert parameter(**MOBILE_APP)["default"] == "mobile_app"


def test_what_is_shown_as_plain_text_has_no_markup(either):
    for method, path, operation in Described(either).operations():
        assert "`" not in operation["summary"], (method, path)
        for response in operation["responses"].values():
            for media in response.get("content", {}).values():
                for example in media.get("examples", {}).values():
                    assert "`" not in example["summary"], (method, path)


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        ({}, "1. Register: `POST /v1/register`."),
        (
            {"variant": "B", "require_email_confirmation": "true"},
            "1. Register: `POST /v1/register`. Then confirm the address with the link in the mail.",
        ),
        ({"registration": "off"}, "1. Ask the operator of this service for an account."),
    ],
)
def test_the_introduction_is_four_steps(site_with, settings, first):
    site = site_with(**settings, **WEB)
    lines = Described(site).document["info"]["description"].splitlines()
    assert lines[0] == first
    assert lines[1].startswith("2. Log in: `POST /v1/clients/web/login`.")
    assert [line[:3] for line in lines] == ["1. ", "2. ", "3. ", "4. "]
