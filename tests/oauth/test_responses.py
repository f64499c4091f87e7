"""What every answer near a credential says about being kept."""

from io import BytesIO

import pytest
from pyramid.interfaces import IRoutesMapper

from tests.support.site import PASSWORD, WEB, bearer

LOGIN = {"username": "ann@example.com", "password": PASSWORD}


@pytest.fixture
def site(site_with):
    made = site_with(**WEB)
    made.user()
    return made


def assert_no_store(answer):
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Pragma"] == "no-cache"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["X-Request-Id"]
    assert "ETag" not in answer.headers
    assert "Last-Modified" not in answer.headers
    return answer


@pytest.mark.control("T23")
def test_no_response_of_any_flow_with_credentials_may_be_stored(site):
    web = site.first_party("web")
    tokens = assert_no_store(site.token(web, grant_type="password", **LOGIN)).json
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    tokens = assert_no_store(site.token(web, **form)).json
    assert_no_store(site.me(tokens["access_token"]))
    assert_no_store(site.http.get("/v1/profile", headers=bearer(tokens["access_token"])))
    for path in ("/v1/clients/web/login", "/v1/clients/web/users/login"):
        proxied = assert_no_store(site.http.post(path, LOGIN)).json
    form = {"refresh_token": proxied["refresh_token"]}
    assert_no_store(site.http.post("/v1/clients/web/refresh", form))
    form = {"email": "bo@example.com", "password": "purple wolf 77 tea"}
    assert_no_store(site.http.post("/v1/register", form, status=201))
    assert_no_store(site.logout(tokens["access_token"]))
    machine = site.client("personal")
    assert_no_store(site.token(machine, grant_type="client_credentials"))


@pytest.mark.control("T23")
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/oauth/token", 400),
        ("GET", "/v1/oauth/token", 405),
        ("POST", "/v1/oauth/none", 404),
        ("POST", "/v1/clients/web/login", 400),
        ("POST", "/v1/clients/web/refresh", 401),
        ("POST", "/v1/clients/none/login", 400),
        ("POST", "/v1/register", 422),
        ("GET", "/v1/user", 401),
        ("HEAD", "/v1/user", 401),
        ("DELETE", "/v1/logout", 401),
        ("GET", "/v1/none", 404),
        ("OPTIONS", "/v1/user", 405),
        ("POST", "/v1/%ff", 400),
    ],
)
def test_no_error_may_be_stored_either(site, method, path, status):
    assert_no_store(site.http.request(path, method=method, status=status))


@pytest.mark.control("T23")
def test_every_guarded_route_rejects_an_unauthenticated_caller_with_no_store(site):
    mapper = site.app.registry.getUtility(IRoutesMapper)
    guarded = [
        route
        for route in mapper.get_routes()
        if any(getattr(each, "name", None) == "guard" for each in route.predicates)
        and route.path.startswith("/v1/")
    ]
    assert len(guarded) >= 4
    for route in guarded:
        methods = site.app.registry["authsite.http"].methods[route.name]
        path = route.path.replace("{id}", "00000000-0000-4000-8000-000000000000")
        for method in methods:
            answer = assert_no_store(site.http.request(path, method=method, status=401))
            assert answer.headers["WWW-Authenticate"].startswith('Bearer realm="authsite"')


@pytest.mark.parametrize("path", ["/v1/%ff", "/v1/oauth/%ff", "/v1/clients/web/%ff"])
def test_an_undecodable_path_of_an_allowed_origin_is_400_and_never_500(site_with, path):
    site = site_with(cors_origins="https://app.example.org")
    headers = {"Origin": "https://app.example.org"}
    answer = site.http.post(path, headers=headers, status=400)
    assert answer.headers["Access-Control-Allow-Origin"] == "https://app.example.org"


def test_a_body_that_breaks_off_is_400_and_never_500(site):
    for declared in ("1000", "70000"):
        environ = {
            "wsgi.input": BytesIO(b"grant_type=pass"),
            "CONTENT_LENGTH": declared,
            "CONTENT_TYPE": "application/x-www-form-urlencoded",
        }
        status = 400 if declared == "1000" else 413
        site.http.request("/v1/oauth/token", method="POST", environ=environ, status=status)
