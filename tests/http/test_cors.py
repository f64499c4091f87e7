"""CORS: listed origins letter for letter, no others, and cookies only at the proxies."""

import pytest

from tests.support.site import WEB, bearer

APP, OTHER = "https://app.example.org", "http://localhost:3000"
FOREIGN = [
    "https://evil.example",
    "https://app.example.org.evil.example",
    "https://evil.example/https://app.example.org",
    "https://xapp.example.org",
    "https://sub.app.example.org",
    "http://app.example.org",
    "https://app.example.org:8443",
    "https://app.example.org/",
    "https://APP.example.org",
    "https://app.example.org https://evil.example",
    "null",
    "*",
    "",
    "file://",
    "http://localhost",
]
PROXIES = ["/v1/clients/web/login", "/v1/clients/web/users/login", "/v1/clients/web/refresh"]
PATHS = ["/v1/user", "/v1/oauth/token", "/v1/register", "/v1/logout", "/v1/nowhere", *PROXIES]


@pytest.fixture
def site(site_with):
    """A site that lists two origins."""
    made = site_with(cors_origins=f"{APP} {OTHER}", **WEB)
    made.first_party("web")
    return made


def access_control(answer):
    """The headers that a browser decides by."""
    return {name for name in answer.headers if name.startswith("Access-Control-")}


def preflight(site, path, origin, **headers):
    requested = {"Origin": origin, "Access-Control-Request-Method": "POST", **headers}
    return site.http.options(path, headers=requested, status="*")


@pytest.mark.control("S10")
@pytest.mark.parametrize("origin", [APP, OTHER])
@pytest.mark.parametrize("path", PATHS)
def test_a_listed_origin_may_read_answers_and_errors(site, path, origin):
    answer = site.http.post(path, headers={"Origin": origin}, status="*")
    assert answer.headers["Access-Control-Allow-Origin"] == origin
    assert "Origin" in answer.headers["Vary"]
    assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert "X-Request-Id" in answer.headers["Access-Control-Expose-Headers"]
    assert "Retry-After" in answer.headers["Access-Control-Expose-Headers"]


@pytest.mark.control("S10")
@pytest.mark.parametrize("origin", FOREIGN)
@pytest.mark.parametrize("path", ["/v1/user", "/v1/clients/web/login"])
def test_any_other_origin_is_told_nothing(site, path, origin):
    for answer in (
        site.http.post(path, headers={"Origin": origin}, status="*"),
        preflight(site, path, origin),
    ):
        assert access_control(answer) == set()
        assert "Origin" in answer.headers["Vary"]  # or a cache mixes the two answers up
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.control("S10")
def test_cookies_are_for_the_proxies_and_logout_only(site):
    """Trial 21: logout from a listed origin clears the refresh cookie."""
    for path in (*PATHS, "/v1/logout/", "/v1/logoutx", "/x/v1/clients/"):
        for answer in (
            site.http.post(path, headers={"Origin": APP}, status="*"),
            preflight(site, path, APP),
        ):
            allowed = answer.headers.get("Access-Control-Allow-Credentials")
            assert allowed == (
                "true" if path in [*PROXIES, "/v1/logout", "/v1/logout/"] else None
            ), path


@pytest.mark.parametrize("path", PATHS)
def test_a_preflight_says_what_may_be_sent(site, path):
    """Trial 10: Laravel and axios add X-Requested-With. Trial 23: no content, no type of it."""
    answer = preflight(site, path, APP, **{"Access-Control-Request-Headers": "authorization"})
    assert (answer.status_int, answer.body) == (204, b"")
    assert "Content-Type" not in answer.headers
    allowed = {item.lower() for item in answer.headers["Access-Control-Allow-Headers"].split(", ")}
    fields = "authorization content-type accept accept-language x-requested-with x-request-id"
    assert allowed == set(fields.split())
    methods = set(answer.headers["Access-Control-Allow-Methods"].split(", "))
    assert methods == {"GET", "POST", "PUT", "PATCH", "DELETE"}
    assert answer.headers["Access-Control-Max-Age"] == "600"


def test_a_preflight_does_nothing_else(site):
    site.user()
    headers = bearer(site.http.post(PROXIES[0], _login()).json["access_token"])
    preflight(site, "/v1/logout", APP, **headers)
    site.http.get("/v1/user", headers=headers)


def _login():
    return {"username": "ann@example.com", "password": "correct horse battery"}


def test_options_without_a_preflight_is_a_wrong_method(site):
    answer = site.http.options("/v1/register", headers={"Origin": APP}, status=405)
    assert answer.headers["Allow"] == "POST"


def test_a_request_without_an_origin_is_no_affair_of_cors(site):
    answer = site.http.get("/v1/user", status=401)
    assert access_control(answer) == set()
    assert "Origin" in answer.headers["Vary"]


@pytest.mark.control("S10")
def test_pages_are_never_shared(site):
    for path in ("/", "/nowhere", "/docs"):
        for answer in (
            site.http.get(path, headers={"Origin": APP}, status="*"),
            preflight(site, path, APP),
        ):
            assert access_control(answer) == set()


@pytest.mark.control("S10")
def test_without_listed_origins_there_is_no_cors_at_all(site_with):
    site = site_with()
    for path in ("/v1/user", "/v1/clients/web/login"):
        for origin in (APP, "http://localhost", "null"):
            answer = site.http.get(path, headers={"Origin": origin}, status="*")
            assert access_control(answer) == set()
            assert preflight(site, path, origin).status_int == 405
