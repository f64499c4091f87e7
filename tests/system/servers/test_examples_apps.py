"""Flask, Django and FastAPI behind the verifier, as examples/ has them, on a real authsite."""

import time
from contextlib import ExitStack

import pytest

from tests.support import databases
from tests.support.example_apps import EXAMPLES, example_app
from tests.support.servers import free_port, serving, write_ini
from tests.support.site import Site, bearer

pytestmark = pytest.mark.slow

NAMES = ("django", "fastapi", "flask")
TIMEOUT = 60  # seconds that a test waits for a condition at most


class Stand:
    """authsite with Ann, and the clients of an application and of its callers."""

    def __init__(self, folder):
        self.folder = folder
        self.url = databases.migrated(databases.new_url("sqlite", folder, "examples"))
        self.site = Site(self.url)
        self.site.user()
        self.callers = self.site.client(scope="notes:read notes:write")
        self.resource_server = self.site.client("resource-server")
        self.ini = write_ini(folder, self.url)
        self.port = free_port()

    def authsite(self):
        return serving(self.ini, port=self.port)

    def app(self, name):
        address = f"http://127.0.0.1:{self.port}"
        log = self.folder / f"{name}.log"
        return example_app(name, address, self.resource_server, log)

    def token(self, scope="notes:read"):
        return self.site.login(self.callers, scope=scope)["access_token"]


@pytest.fixture(scope="module")
def stand(tmp_path_factory):
    made = Stand(tmp_path_factory.mktemp("examples"))
    yield made
    made.site.database.dispose()


@pytest.fixture(scope="module")
def authsite(stand):
    with stand.authsite() as running:
        yield running


@pytest.fixture(scope="module", params=NAMES)
def app(request, stand, authsite):
    """One of the applications, as an httpx client."""
    with stand.app(request.param) as running:
        running.name = request.param
        yield running


def add_note(app, token):
    body = {"json": {"text": "Tea"}} if app.name == "fastapi" else {"data": {"text": "Tea"}}
    return app.post("/notes", headers=bearer(token), **body)


def until(status, ask, allowed):
    """Ask again and again until the answer has ``status``; before it all are ``allowed``."""
    deadline = time.monotonic() + TIMEOUT
    while (answer := ask()).status_code != status:
        assert answer.status_code == allowed, answer.text
        assert time.monotonic() < deadline, f"still {allowed}"
        time.sleep(0.05)
    return answer


def test_every_example_says_how_to_start_it():
    for name in NAMES:
        text = (EXAMPLES / name / "README.md").read_text()
        assert ".venv/bin/python app.py" in text
        assert "../../clients/python" in (EXAMPLES / name / "requirements.txt").read_text()


def test_an_exempt_path_is_open(app):
    assert app.get("/").status_code == 200


def test_without_a_token_there_is_a_challenge(app):
    answer = app.get("/notes")
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="authsite"'
    for token in ("at_forged", "x"):
        answer = app.get("/notes", headers=bearer(token))
        assert answer.status_code == 401
        assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]


def test_a_token_opens_the_application_and_names_the_user(stand, app):
    answer = app.get("/notes", headers=bearer(stand.token()))
    assert answer.status_code == 200, answer.text
    assert answer.json()["user"] == "ann@example.com"


def test_a_refresh_token_opens_nothing(stand, app):
    refresh_token = stand.site.login(stand.callers)["refresh_token"]
    assert app.get("/notes", headers=bearer(refresh_token)).status_code == 401


def test_a_view_may_need_a_scope(stand, app):
    answer = add_note(app, stand.token())
    assert answer.status_code == 403
    assert 'error="insufficient_scope", scope="notes:write"' in answer.headers["WWW-Authenticate"]
    assert answer.json()["errors"][0]["code"] == "insufficient_scope"
    answer = add_note(app, stand.token("notes:read notes:write"))
    assert answer.status_code == 201, answer.text
    assert "Tea" in answer.json()["notes"]


def test_a_revoked_token_is_refused_once_the_cache_has_expired(stand, app):
    token = stand.token()
    assert app.get("/notes", headers=bearer(token)).status_code == 200
    stand.site.logout(token)
    until(401, lambda: app.get("/notes", headers=bearer(token)), allowed=200)


def test_without_authsite_nothing_passes_until_it_is_back(stand, tmp_path_factory):
    """The only test with an authsite that ends: a cached token passes, then there is 503."""
    own = Stand(tmp_path_factory.mktemp("outage"))
    token = own.token()
    with ExitStack() as stack:
        apps = [stack.enter_context(own.app(name)) for name in NAMES]

        def asks(token):
            return [lambda app=app: app.get("/notes", headers=bearer(token)) for app in apps]

        with own.authsite():
            for ask in asks(token):
                assert ask().status_code == 200
        for ask in asks(token):
            answer = until(503, ask, allowed=200)
            assert int(answer.headers["Retry-After"]) >= 1
        for ask in asks("at_forged"):
            assert ask().status_code == 503
        with own.authsite():
            for ask in asks(token):
                until(200, ask, allowed=503)
            for ask in asks("at_forged"):
                assert ask().status_code == 401
    own.site.database.dispose()
