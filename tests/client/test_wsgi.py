"""The WSGI middleware, around an application that shows what it gets."""

import json
from wsgiref.validate import validator

import pytest
from webtest import TestApp

from authsite_client import WsgiMiddleware
from authsite_client.wsgi import IDENTITY
from tests.support.site import bearer


def show(environ, start_response):
    """An application that names the user, if there is one."""
    identity = environ.get(IDENTITY)
    body = json.dumps(identity and identity.username).encode()
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    start_response("200 OK", headers)
    return [body]


@pytest.fixture
def app_with(verifier):
    """A factory: ``app_with(scope="…")`` is the application behind the middleware."""

    def new(**options):
        return TestApp(validator(WsgiMiddleware(validator(show), verifier, **options)))

    return new


def test_a_request_with_a_token_reaches_the_application_with_its_identity(app_with):
    assert app_with().get("/", headers=bearer("at_1")).json == "ann@example.com"


def test_a_request_without_a_token_gets_a_challenge_without_an_error(app_with):
    answer = app_with().get("/", status=401)
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="authsite"'
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.json == {
        "message": "An exception occurred when trying to authenticate the user.",
        "errors": [],
    }


@pytest.mark.parametrize("token", ["dead_1", "at_1, Bearer at_2", "rt_1"])
def test_a_request_with_an_invalid_token_is_told_so(app_with, token):
    answer = app_with().get("/", headers=bearer(token), status=401)
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="authsite", error="invalid_token"'


def test_a_token_without_the_scope_gets_403_with_the_scope(app_with):
    app = app_with(scope="notes:read notes:share")
    answer = app.get("/", headers=bearer("at_1"), status=403)
    assert (
        'error="insufficient_scope", scope="notes:read notes:share"'
        in (answer.headers["WWW-Authenticate"])
    )
    assert answer.json["errors"][0]["code"] == "insufficient_scope"
    assert app_with(scope="notes:read").get("/", headers=bearer("at_1")).json


def test_authsite_away_is_503_with_a_time_and_no_challenge(server, app_with):
    server.respond = lambda request: (503, {"Retry-After": "3"}, b"")
    answer = app_with().get("/", headers=bearer("at_1"), status=503)
    assert answer.headers["Retry-After"] == "3"
    assert "WWW-Authenticate" not in answer.headers
    app_with().get("/", status=401)  # for this authsite is not asked


def test_a_response_to_head_has_no_body(app_with):
    answer = app_with().head("/", status=401)
    assert answer.body == b""
    assert int(answer.headers["Content-Length"]) > 0


PROTECTED = {"protect": ["/api", "/admin/"], "exempt": ["/api/health", "/api/docs/*"]}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/apix", 200),
        ("/api", 401),
        ("/api/", 401),
        ("/api/notes", 401),
        ("/admin", 401),
        ("/admin/users", 401),
        ("/api/health", 200),
        ("/api/health/", 401),
        ("/api/healthy", 401),
        ("/api/docs", 401),
        ("/api/docs/", 200),
        ("/api/docs/index.html", 200),
        ("/api/docs/../notes", 401),
        ("/api/docs/..", 401),
        ("/api/docs//notes", 401),
        ("/public/../api/notes", 401),
        ("//api/notes", 401),
        ("/./api", 401),
        ("api/notes", 401),
        ("*", 401),
        ("/api/docs/..\\notes", 401),
    ],
)
def test_paths_decide_what_needs_a_token(verifier, path, status):
    """What servers and frameworks may read differently needs one, too."""
    environ = {"PATH_INFO": path, "REQUEST_METHOD": "GET", "SCRIPT_NAME": ""}
    app = TestApp(WsgiMiddleware(show, verifier, **PROTECTED), lint=False)
    assert app.request("/x", environ=environ, status=status)


@pytest.mark.parametrize("path", ["/", "/favicon.ico", "/login", "", "*", "notes", "\n/notes"])
def test_everything_needs_a_token_by_default(verifier, path):
    """A request line may have any path, and Werkzeug puts a slash before it."""
    environ = {"PATH_INFO": path, "REQUEST_METHOD": "GET", "SCRIPT_NAME": "/app"}
    app = TestApp(WsgiMiddleware(show, verifier), lint=False)
    app.request("/x", environ=environ, status=401)


def test_the_exempt_home_page_opens_nothing_else(app_with):
    app = app_with(exempt=["/", "/docs/"])
    for path, status in (("/", 200), ("/notes", 401), ("/docs/", 200), ("/docs/x", 401)):
        app.get(path, status=status)


@pytest.mark.parametrize(
    "options",
    [
        {"exempt": "/health"},
        {"exempt": ["/*"]},
        {"exempt": ["*"]},
        {"exempt": ["/static*"]},
        {"exempt": ["/*/docs/*"]},
        {"protect": ["api"]},
        {"protect": "/"},
        {"protect": [""]},
        {"protect": ["/notes?all"]},
    ],
)
def test_what_is_no_list_of_paths_is_an_error_at_once(app_with, options):
    with pytest.raises(ValueError, match="path"):
        app_with(**options)


BEYOND_ASCII = {"protect": ["/größe"], "exempt": ["/größe/öffentlich/*"]}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/größe".encode(), 401),
        ("/größe/1".encode(), 401),
        ("/größe/öffentlich/1".encode(), 200),
        ("/grö".encode(), 200),
        ("/größe".encode("latin-1"), 401),
        ("/gr\udcfföße".encode(errors="surrogateescape"), 401),
    ],
)
def test_a_path_beyond_ascii_is_compared_as_text(verifier, path, status):
    """The server decodes it by latin-1 (PEP 3333). Some frameworks skip what is not UTF-8."""
    environ = {"PATH_INFO": path.decode("latin-1"), "REQUEST_METHOD": "GET", "SCRIPT_NAME": ""}
    app = TestApp(WsgiMiddleware(show, verifier, **BEYOND_ASCII), lint=False)
    assert app.request("/x", environ=environ, status=status)


@pytest.mark.parametrize("option", ["protect", "exempt"])
def test_an_encoded_path_is_an_error_that_says_what_to_write(app_with, option):
    with pytest.raises(ValueError, match="paths are compared decoded: write '/größe'"):
        app_with(**{option: ["/gr%C3%B6%C3%9Fe"]})
