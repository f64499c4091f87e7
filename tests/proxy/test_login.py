"""The proxies: first-party clients log in and refresh without holding their own credentials."""

import logging
from http.cookies import SimpleCookie
from uuid import UUID

import pytest

from authsite.oauth.clients import service as clients
from authsite.users import service as users
from tests.support.acting import acting
from tests.support.site import MOBILE_APP, PASSWORD, WEB, ClientKeys, bearer

LOGIN = "/v1/clients/web/login"
REFRESH = "/v1/clients/web/refresh"
LOGIN_FORM = {"username": "ann@example.com", "password": PASSWORD}
TOKEN_FIELDS = {"token_type", "expires_in", "access_token", "refresh_token"}


@pytest.fixture
def site(site_with):
    """A site with the web client and its user Ann."""
    made = site_with(**WEB)
    made.first_party("web")
    made.user()
    return made


def the_cookie(response):
    """The one refresh cookie that an answer sets."""
    headers = response.headers.getall("Set-Cookie")
    [header] = [each for each in headers if each.startswith("refreshToken=")]
    return SimpleCookie(header)["refreshToken"]


@pytest.mark.parametrize("path", [LOGIN, "/v1/clients/web/users/login"])
@pytest.mark.parametrize("send", ["post", "post_json"])
def test_a_login_returns_tokens_alone(site, path, send):
    answer = getattr(site.http, send)(path, LOGIN_FORM)
    assert set(answer.json) == TOKEN_FIELDS
    assert answer.json["token_type"] == "Bearer"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Pragma"] == "no-cache"
    assert site.me(answer.json["access_token"]).json["email"] == "ann@example.com"


@pytest.mark.control("S02")
def test_a_login_sets_the_refresh_cookie_for_the_routes_of_this_client_only(site):
    answer = site.http.post(LOGIN, LOGIN_FORM)
    cookie = the_cookie(answer)
    assert cookie.value == answer.json["refresh_token"]
    assert cookie["path"] == "/v1/clients/web"
    assert cookie["httponly"] is True
    assert cookie["samesite"] == "Strict"
    assert cookie["max-age"] == str(3650 * 24 * 3600)
    assert not cookie["secure"]  # plain http
    assert not cookie["domain"]


@pytest.mark.control("S02")
def test_on_https_the_refresh_cookie_is_secure_and_lives_as_long_as_the_token(site_with):
    site = site_with(base_url="https://auth.example.org", refresh_expires_in="12h", **WEB)
    site.first_party("web")
    site.user()
    cookie = the_cookie(site.http.post(LOGIN, LOGIN_FORM))
    assert cookie["secure"] is True
    assert cookie["max-age"] == str(12 * 3600)


def test_credentials_and_grant_type_of_the_caller_are_ignored(site):
    form = {"client_id": "x", "client_secret": "y", "grant_type": "client_credentials"}
    answer = site.http.post(LOGIN, LOGIN_FORM | form)
    assert site.me(answer.json["access_token"]).json["email"] == "ann@example.com"


def test_the_name_may_come_in_the_field_of_its_kind(site):
    site.http.post(LOGIN, {"email": "ann@example.com", "password": PASSWORD})
    site.http.post(LOGIN, {"email": "ann@example.com", "username": "", "password": PASSWORD})


def test_a_field_is_as_long_as_its_kind_may_be(site):
    for field, longest in {"email": 254, "username": 320}.items():
        for size, error in ((longest, "invalid_grant"), (longest + 1, "invalid_request")):
            form = {field: "a" * (size - 12) + "@example.com", "password": PASSWORD}
            assert site.http.post(LOGIN, form, status=400).json["error"] == error


@pytest.mark.parametrize(
    "form",
    [
        {"password": PASSWORD},
        {"username": "", "password": PASSWORD},
        {"username": "ann@example.com"},
        {"username": "ann@example.com", "password": ""},
        {"phone": "+493012345678", "password": PASSWORD},  # not enabled
        {"username": "ann@example.com", "email": "ann@example.com", "password": PASSWORD},
    ],
)
def test_a_login_without_exactly_one_name_and_a_password_is_an_invalid_request(site, form):
    answer = site.http.post(LOGIN, form, status=400)
    assert answer.json["error"] == "invalid_request"
    assert answer.json["message"] == answer.json["error_description"]
    assert site.families() == []


@pytest.mark.parametrize(
    "form", [LOGIN_FORM | {"password": "wrong"}, LOGIN_FORM | {"username": "bo@example.com"}]
)
def test_a_wrong_login_is_an_invalid_grant_without_a_cookie(site, form):
    answer = site.http.post(LOGIN, form, status=400)
    assert answer.json["error"] == "invalid_grant"
    assert "Set-Cookie" not in answer.headers


def test_a_scope_may_be_requested(site_with):
    site = site_with(**WEB)
    site.first_party("web", scope="notes:read notes:write")
    site.user()
    answer = site.http.post(LOGIN, LOGIN_FORM | {"scope": "notes:read"})
    assert set(answer.json) == TOKEN_FIELDS
    answer = site.http.post(LOGIN, LOGIN_FORM | {"scope": "admin"}, status=400)
    assert answer.json["error"] == "invalid_scope"


@pytest.mark.parametrize("path", ["login", "users/login", "refresh"])
@pytest.mark.parametrize(
    "name", ["other", "Web", "web%20", "%00", "-1", "..", "x" * 5000, "%C3%BC"]
)
def test_an_unknown_client_is_not_found_in_the_words_of_oauth(site, name, path):
    answer = site.http.post(f"/v1/clients/{name}/{path}", LOGIN_FORM, status=404)
    assert set(answer.json) == {"error", "error_description", "message"}
    assert answer.json["error"] == "not_found"


def test_trial_22_which_settings_are_missing_is_for_the_log_alone(site, caplog):
    """Trial 22: the 404 told strangers which settings to make."""
    with caplog.at_level(logging.WARNING, "authsite.proxy"):
        answer = site.http.post("/v1/clients/shop/login", LOGIN_FORM, status=404)
    assert "secret" not in answer.text
    assert "settings" not in answer.text
    logged = " ".join(record.getMessage() for record in caplog.records)
    assert "unknown_proxy" in logged
    assert "shop" not in logged  # a path is a caller's text, and may be a secret


def test_wrong_credentials_in_the_settings_are_an_invalid_client(site_with):
    site = site_with(**WEB)  # and no such client in the database
    site.user()
    answer = site.http.post(LOGIN, LOGIN_FORM, status=401)
    assert answer.json == {
        "error": "invalid_client",
        "error_description": "Client authentication failed",
        "message": "Client authentication failed",
    }


@pytest.mark.parametrize("path", [LOGIN, "/v1/clients/web/users/login", REFRESH])
def test_a_proxy_accepts_post_only(site, path):
    for method in ("get", "head", "put", "patch", "delete", "options"):
        answer = getattr(site.http, method)(path, status=405)
        assert answer.headers["Allow"] == "POST"
        assert "Set-Cookie" not in answer.headers


def test_a_second_client_needs_two_settings_only(site_with):
    site = site_with(**WEB, **MOBILE_APP)
    web, mobile = site.first_party("web"), site.first_party("mobile_app")
    site.user()
    answer = site.http.post("/v1/clients/mobile-app/login", LOGIN_FORM)
    assert the_cookie(answer)["path"] == "/v1/clients/mobile-app"
    [family] = site.families()
    assert str(family.client_id) == mobile.client_id != web.client_id
    fresh = site.http.post(
        "/v1/clients/mobile-app/refresh", {"refresh_token": answer.json["refresh_token"]}
    )
    assert site.me(fresh.json["access_token"]).json["email"] == "ann@example.com"


def test_minus_and_underscore_are_the_same_in_the_name_of_a_client(site_with):
    site = site_with(**MOBILE_APP)
    site.first_party("mobile_app")
    site.user()
    answer = site.http.post("/v1/clients/mobile_app/login", LOGIN_FORM)
    assert the_cookie(answer)["path"] == "/v1/clients/mobile_app"
    site.http.post(
        "/v1/clients/mobile-app/refresh", {"refresh_token": answer.json["refresh_token"]}
    )


@pytest.mark.control("T10")
def test_the_token_of_one_client_is_not_refreshed_by_another(site_with):
    site = site_with(**WEB, **MOBILE_APP)
    site.first_party("web")
    site.first_party("mobile_app")
    site.user()
    token = site.http.post(LOGIN, LOGIN_FORM).json["refresh_token"]
    form = {"refresh_token": token}
    answer = site.http.post("/v1/clients/mobile-app/refresh", form, status=400)
    assert answer.json["error"] == "invalid_grant"
    site.http.post(REFRESH, form)


def test_a_token_from_the_token_endpoint_is_refreshed_by_the_proxy_and_the_other_way_round(site):
    keys = ClientKeys(WEB["clients.web.id"], WEB["clients.web.secret"])
    direct = site.login(keys)
    answer = site.http.post(REFRESH, {"refresh_token": direct["refresh_token"]})
    site.refresh(keys, answer.json["refresh_token"])


@pytest.mark.control("T20")
def test_a_disabled_user_or_client_gets_nothing_from_a_proxy(site):
    token = site.http.post(LOGIN, LOGIN_FORM).json["refresh_token"]
    with site.db() as db:
        users.disable(acting(db), users.find(db, "ann@example.com"))
    for path, form in ((LOGIN, LOGIN_FORM), (REFRESH, {"refresh_token": token})):
        assert site.http.post(path, form, status=400).json["error"] == "invalid_grant"
    with site.db() as db:
        clients.disable(acting(db), UUID(WEB["clients.web.id"]))
    for path, form in ((LOGIN, LOGIN_FORM), (REFRESH, {"refresh_token": token})):
        assert site.http.post(path, form, status=401).json["error"] == "invalid_client"


def test_logout_ends_the_family_and_clears_the_cookies_of_all_clients(site_with):
    site = site_with(**WEB, **MOBILE_APP)
    site.first_party("web")
    site.first_party("mobile_app")
    site.user()
    tokens = site.http.post(LOGIN, LOGIN_FORM).json
    answer = site.http.delete("/v1/logout/", headers=bearer(tokens["access_token"]))
    assert answer.json == {"message": "Token revoked successfully."}
    cleared = [SimpleCookie(line)["refreshToken"] for line in answer.headers.getall("Set-Cookie")]
    assert {(cookie.value, cookie["max-age"]) for cookie in cleared} == {("", "0")}
    # A browser may have logged in under either spelling of a name.
    assert {cookie["path"] for cookie in cleared} == {
        "/v1/clients/web",
        "/v1/clients/mobile_app",
        "/v1/clients/mobile-app",
    }
    site.http.post(REFRESH, {"refresh_token": tokens["refresh_token"]}, status=400)
