"""What the API really answers is what the OpenAPI document announces."""

import pytest

from tests.support.described import Described
from tests.support.site import PASSWORD, WEB, bearer


@pytest.fixture
def site(site_with):
    made = site_with(**WEB)
    made.first_party("web")
    return made


@pytest.fixture
def described(site):
    return Described(site)


def test_the_answers_of_a_whole_walk_fit_the_document(site, described):
    http, keys, fits = site.http, site.client(), described.fits
    user = {"email": "bo@example.com", "password": "purple wolf 77 tea"}
    made = http.post_json("/v1/register", user)
    assert fits(made, "POST", "/v1/register").status_int == 201
    login = {"username": "bo@example.com", "password": user["password"]}
    token = http.post("/v1/oauth/token", keys.form(grant_type="password", **login))
    pair = fits(token, "POST", "/v1/oauth/token").json
    spent = keys.form(grant_type="refresh_token", refresh_token=pair["refresh_token"])
    fits(http.post("/v1/oauth/token", spent), "POST", "/v1/oauth/token")
    proxied = http.post("/v1/clients/web/login", login)
    pair = fits(proxied, "POST", "/v1/clients/{client}/login").json
    renewed = http.post("/v1/clients/web/refresh", {"refresh_token": pair["refresh_token"]})
    pair = fits(renewed, "POST", "/v1/clients/{client}/refresh").json
    fits(http.get("/v1/user", headers=bearer(pair["access_token"])), "GET", "/v1/user")
    gone = http.delete("/v1/logout", headers=bearer(pair["access_token"]))
    assert fits(gone, "DELETE", "/v1/logout").json == {"message": "Token revoked successfully."}
    fits(http.get("/v1/openapi.json"), "GET", "/v1/openapi.json")


def test_a_scope_that_was_not_asked_for_fits_the_document(site, described):
    keys = site.client("personal", scope="a b", default_scope="a")
    answer = site.token(keys, grant_type="client_credentials")
    assert described.fits(answer, "POST", "/v1/oauth/token").json["scope"] == "a"


@pytest.mark.parametrize(
    ("type", "form", "error"),
    [
        ("password", {"grant_type": "client_credentials"}, "unauthorized_client"),
        ("personal", {"grant_type": "client_credentials", "scope": "z"}, "invalid_scope"),
        ("personal", {"grant_type": "refresh_token", "refresh_token": "rt_x"}, "invalid_grant"),
        ("personal", {"grant_type": "refresh_token"}, "invalid_request"),
        ("personal", {"grant_type": "device"}, "unsupported_grant_type"),
    ],
)
def test_a_grants_refusal_fits_the_document(site, described, type, form, error):
    answer = site.token(site.client(type), status=400, **form)
    assert described.fits(answer, "POST", "/v1/oauth/token").json["error"] == error


def test_two_ways_of_client_authentication_fit_the_document(site, described):
    keys = site.client("personal")
    site.http.authorization = ("Basic", (keys.client_id, keys.client_secret))
    answer = site.token(keys, status=400, grant_type="client_credentials")
    described.fits(answer, "POST", "/v1/oauth/token")
    site.http.authorization = None


def test_a_confirmed_user_fits_the_document(site, described):
    site.user(confirmed=True)
    token = site.login(site.client())["access_token"]
    assert described.fits(site.me(token), "GET", "/v1/user").json["email_verified_at"]


def test_the_answer_that_hides_who_is_registered_fits_the_document(site_with):
    site = site_with(prevent_enumeration="true")
    made = site.http.post("/v1/register", {"email": "bo@example.com", "password": PASSWORD})
    assert Described(site).fits(made, "POST", "/v1/register").status_int == 202


BODIES = [
    ("/v1/oauth/token", {}, 400),
    ("/v1/oauth/token", {"grant_type": "implicit"}, 400),
    ("/v1/oauth/token", {"grant_type": "password", "client_id": "x", "client_secret": "x"}, 401),
    ("/v1/oauth/token?grant_type=password", {"grant_type": "password"}, 400),
    ("/v1/clients/{client}/login", {"username": "ann@example.com", "password": "wrong"}, 400),
    ("/v1/clients/{client}/login", {"password": "wrong"}, 400),
    ("/v1/clients/{client}/refresh", {}, 400),
    ("/v1/register", {}, 422),
    ("/v1/register", {"email": "bo@example.com", "password": "password"}, 422),
    ("/v1/register", {"email": "ann@example.com", "password": PASSWORD}, 422),
    ("/v1/register", {"email": "no address", "password": PASSWORD, "name": "a\nb"}, 422),
    (
        "/v1/register",
        {
            "email": "bo@example.com",
            "password": PASSWORD,
            "verification_url": "https://evil.example",
        },
        422,
    ),
]


@pytest.mark.parametrize(("path", "form", "status"), BODIES)
def test_a_refused_body_fits_the_document(site, described, path, form, status):
    site.user()
    answer = site.http.post(path.format(client="web"), form, status=status)
    described.fits(answer, "POST", path.partition("?")[0])


def posts(described):
    return [
        path
        for method, path, it in described.operations()
        if method == "POST" and "requestBody" in it
    ]


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"a=1&a=2", "application/x-www-form-urlencoded", 400),
        (b"x" * 70_000, "application/x-www-form-urlencoded", 413),
        (b"<a/>", "text/xml", 415),
    ],
)
def test_an_unreadable_body_fits_the_document_everywhere(site, described, body, kind, status):
    site.user()
    token = bearer(site.login(site.client())["access_token"])
    for path in posts(described):
        answer = site.http.post(
            path.format(client="web"), body, content_type=kind, headers=token, status=status
        )
        described.fits(answer, "POST", path)


def test_a_guards_refusals_fit_the_document(site, described):
    http = site.http
    machine = site.token(site.client("personal"), grant_type="client_credentials").json
    described.fits(http.get("/v1/user", status=401), "GET", "/v1/user")
    described.fits(http.get("/v1/user", headers=bearer("at_x"), status=401), "GET", "/v1/user")
    refused = http.get("/v1/user", headers=bearer(machine["access_token"]), status=403)
    described.fits(refused, "GET", "/v1/user")
    described.fits(http.delete("/v1/logout/", status=401), "DELETE", "/v1/logout/")


def test_an_unknown_client_and_a_foreign_origin_fit_the_document(site, described):
    login, refresh = "/v1/clients/{client}/login", "/v1/clients/{client}/refresh"
    form = {"username": "ann@example.com", "password": PASSWORD}
    described.fits(site.http.post(login.format(client="none"), form, status=404), "POST", login)
    site.user()
    site.http.post(login.format(client="web"), form)
    foreign = {"Origin": "https://evil.example"}
    answer = site.http.post(refresh.format(client="web"), headers=foreign, status=403)
    described.fits(answer, "POST", refresh)


def test_a_limit_that_is_reached_fits_the_document(site_with):
    site = site_with(limits="on", **{"limits.register-address": "1 per hour"})
    described = Described(site)
    answers = [site.http.post("/v1/register", {}, status="*") for _ in range(2)]
    form = {"email": "bo@example.com", "password": PASSWORD}
    answers += [site.http.post("/v1/register", form, status="*") for _ in range(2)]
    assert answers[-1].status_int == 429
    for answer in answers:
        described.fits(answer, "POST", "/v1/register")


def test_an_answer_with_one_field_more_would_not_fit(described):
    operation = described.operation("GET", "/v1/user")
    media = operation["responses"]["200"]["content"]["application/json"]
    assert described.errors(media["schema"], media["example"]) == []
    assert described.errors(media["schema"], media["example"] | {"password_hash": "x"})
