"""The contract's table of errors: status, headers and the exact body of each row."""

import uuid

import pytest

from authsite.oauth.clients import service as clients
from authsite.users import service as users
from tests.support.acting import acting
from tests.support.error_bodies import json_error, no_store, oauth
from tests.support.site import PASSWORD, WEB

TOKEN = "/v1/oauth/token"
LOGIN = {"grant_type": "password", "username": "ann@example.com", "password": PASSWORD}
MACHINE = {"grant_type": "client_credentials"}


NOT_AUTHENTICATED = {
    "message": "An exception occurred when trying to authenticate the user.",
    "errors": [],
}
INVALID_CLIENT = oauth("invalid_client", "Client authentication failed")
INVALID_GRANT = oauth(
    "invalid_grant",
    "Wrong credentials, or the refresh token has expired or was revoked. Log in again to get "
    "new tokens.",
)
TOO_LARGE = "The request body is larger than 64 KiB; send less."


@pytest.fixture
def ann(site):
    return site.user()


@pytest.fixture
def keys(site, ann):
    return site.client(scope="a")


def test_the_guard_refuses_a_stranger(site):
    answer = no_store(site.http.get("/v1/user", status=401))
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="authsite"'
    assert answer.json == NOT_AUTHENTICATED


@pytest.mark.parametrize("kind", ["malformed", "unknown", "expired", "revoked"])
def test_the_guard_refuses_a_bad_token_always_in_the_same_words(site, keys, frozen, kind):
    token = site.login(keys)["access_token"]
    if kind == "malformed":
        token = "at_x"
    elif kind == "unknown":
        with site.db() as db:
            db.delete(db.merge(site.families()[0]))
    elif kind == "expired":
        frozen.advance(3650 * 86400 + 1)
    else:
        site.logout(token)
    answer = no_store(site.me(token, status=401))
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="authsite", error="invalid_token"'
    assert answer.json == NOT_AUTHENTICATED


def test_a_client_token_on_a_user_route_is_403_user_required(site):
    tokens = site.token(site.client("personal"), **MACHINE).json
    text = "This endpoint needs a token that acts for a user; this one acts for a client."
    answer = no_store(site.me(tokens["access_token"], status=403))
    assert answer.json == json_error("user_required", text)
    assert "WWW-Authenticate" not in answer.headers


@pytest.mark.parametrize("kind", ["wrong", "unknown", "disabled", "blank", "absent"])
def test_a_client_that_is_not_known_is_401_in_one_form(site, keys, kind):
    form = keys.form(**LOGIN)
    if kind == "disabled":
        with site.db() as db:
            clients.disable(acting(db), uuid.UUID(keys.client_id))
    elif kind == "unknown":
        form["client_id"] = str(uuid.uuid4())
    elif kind == "absent":
        del form["client_secret"]
    else:
        form["client_secret"] = "" if kind == "blank" else "wrong"
    answer = no_store(site.http.post(TOKEN, form, status=401))
    assert answer.json == INVALID_CLIENT
    assert "WWW-Authenticate" not in answer.headers


def test_a_client_that_tried_basic_is_asked_for_basic(site):
    headers = {"Authorization": "Basic eDp5"}
    answer = no_store(site.http.post(TOKEN, MACHINE, headers=headers, status=401))
    assert answer.json == INVALID_CLIENT
    assert answer.headers["WWW-Authenticate"] == 'Basic realm="authsite"'


@pytest.mark.parametrize("kind", ["wrong password", "unknown user", "disabled user"])
def test_a_login_that_fails_is_invalid_grant_in_one_form(site, ann, keys, kind):
    form = dict(LOGIN)
    if kind == "disabled user":
        with site.db() as db:
            users.disable(acting(db), ann)
    else:
        form |= {"password": "x"} if kind == "wrong password" else {"username": "bo@example.com"}
    answer = no_store(site.token(keys, 400, **form))
    assert answer.json == INVALID_GRANT
    assert "WWW-Authenticate" not in answer.headers


@pytest.mark.parametrize("kind", ["bad", "expired", "foreign", "reused", "revoked"])
def test_a_refresh_that_fails_is_invalid_grant_in_one_form(site, keys, frozen, kind):
    first = site.login(keys)
    token, asking = first["refresh_token"], keys
    if kind == "bad":
        token = "rt_x"
    elif kind == "expired":
        frozen.advance(3650 * 86400 + 1)
    elif kind == "foreign":
        asking = site.client()
    elif kind == "reused":
        site.refresh(keys, token)
        frozen.advance(11)
    else:
        site.logout(first["access_token"])
    form = {"grant_type": "refresh_token", "refresh_token": token}
    assert no_store(site.token(asking, 400, **form)).json == INVALID_GRANT


@pytest.mark.parametrize(
    ("form", "error", "text"),
    [
        ({}, "invalid_request", "grant_type: This field is required."),
        (
            {"grant_type": "password"},
            "invalid_request",
            "This grant type needs username and password in the form body.",
        ),
        (
            {"grant_type": "refresh_token"},
            "invalid_request",
            "This grant type needs refresh_token in the form body.",
        ),
        (
            MACHINE | {"scope": "x" * 1025},
            "invalid_request",
            "scope: This is too long. Shorten it.",
        ),
        (
            {"grant_type": "magic"},
            "unsupported_grant_type",
            "Use one of the grant types password, client_credentials, refresh_token, "
            "urn:authsite:params:oauth:grant-type:mfa and "
            "urn:authsite:params:oauth:grant-type:passkey.",
        ),
        (MACHINE, "unauthorized_client", "This type of client may not use this grant type."),
        (
            LOGIN | {"scope": "b"},
            "invalid_scope",
            "Ask only for scopes that this client (or this refresh token) was granted, separated "
            "by blanks. Not granted: b. The administrator of authsite can allow them.",
        ),
    ],
)
def test_a_token_request_with_a_mistake_is_400_with_its_own_code(site, keys, form, error, text):
    answer = no_store(site.token(keys, 400, **form))
    assert answer.json == oauth(error, text)


def test_a_widened_scope_at_refresh_is_400_invalid_scope(site, ann):
    keys = site.client(scope="a b")
    tokens = site.login(keys, scope="a")
    answer = site.refresh(keys, tokens["refresh_token"], status=400, scope="a b")
    assert answer["error"] == "invalid_scope"


def test_a_repeated_parameter_is_400_at_both_kinds_of_endpoint(site):
    text = "A parameter appears more than once; send each once."
    answer = no_store(site.http.post(TOKEN, "grant_type=a&grant_type=a", status=400))
    assert answer.json == oauth("invalid_request", text)
    answer = no_store(site.http.post("/v1/register", "email=a&email=a", status=400))
    assert answer.json == json_error("invalid_request", text)
    body = b'{"email": "a", "email": "a"}'
    answer = site.http.post("/v1/register", body, content_type="application/json", status=400)
    assert answer.json == json_error("invalid_request", text)


def test_validation_elsewhere_is_422_with_one_entry_for_each_field(site):
    body = {"email": "x" * 255, "name": 7}
    answer = no_store(site.http.post_json("/v1/register", body, status=422))
    message = "Some fields are missing or invalid. Correct them and try again."
    assert answer.json["message"] == message
    found = {item["field"]: (item["code"], item["message"]) for item in answer.json["errors"]}
    assert found == {
        "email": ("too_long", "This is too long. Shorten it."),
        "name": ("invalid", "This must be one plain text."),
        "password": ("required", "Choose a password."),
    }
    assert set(answer.json) == {"message", "errors"}
    assert all(set(item) == {"code", "field", "message"} for item in answer.json["errors"])


@pytest.mark.parametrize(
    ("method", "path", "allowed", "make"),
    [
        ("GET", TOKEN, "POST", oauth),
        ("GET", "/v1/clients/web/login", "POST", oauth),
        ("GET", "/v1/clients/web/users/login", "POST", oauth),
        ("DELETE", "/v1/clients/web/refresh", "POST", oauth),
        ("GET", "/v1/register", "POST", json_error),
        ("GET", "/v1/logout", "DELETE", json_error),
        ("POST", "/v1/logout/", "DELETE", json_error),
    ],
)
def test_another_method_is_405_with_allow_before_anyone_is_asked_who_they_are(
    site, method, path, allowed, make
):
    answer = no_store(site.http.request(path, method=method, status=405))
    assert answer.headers["Allow"] == allowed
    assert answer.headers.get("WWW-Authenticate") is None
    text = f"This endpoint accepts only {allowed}."
    assert answer.json == make("method_not_allowed", text)


def test_a_body_over_64_kib_is_413_at_both_kinds_of_endpoint(site):
    body = "a=" + "x" * 65536
    answer = no_store(site.http.post(TOKEN, body, status=413))
    assert answer.json == oauth("invalid_request", TOO_LARGE)
    answer = no_store(site.http.post("/v1/register", body, status=413))
    assert answer.json == json_error("payload_too_large", TOO_LARGE)


def test_another_content_type_is_415_at_both_kinds_of_endpoint(site):
    answer = no_store(site.http.post_json(TOKEN, MACHINE, status=415))
    text = "Send the body as application/x-www-form-urlencoded."
    assert answer.json == oauth("invalid_request", text)
    answer = no_store(site.http.post("/v1/register", "x", content_type="text/plain", status=415))
    text = "Send the body as application/x-www-form-urlencoded or application/json."
    assert answer.json == json_error("unsupported_media_type", text)


def test_errors_of_the_proxies_have_the_oauth_body(site_with):
    site = site_with(**WEB)
    site.first_party("web")
    path = "/v1/clients/web/login"
    answer = no_store(site.http.post(path, {"username": "x", "password": "y"}, status=400))
    assert answer.json == INVALID_GRANT
    answer = no_store(site.http.post(path, {"username": "x"}, status=400))
    assert answer.json["error"] == "invalid_request"
    answer = no_store(site.http.post("/v1/clients/none/login", {"password": "y"}, status=404))
    assert answer.json["error"] == "not_found"
