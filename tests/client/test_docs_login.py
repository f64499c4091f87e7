"""docs/login-python.md: its views sign a user in, in each framework."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace
from urllib.parse import urlsplit

import flask
import httpx
import pytest
from fastapi import FastAPI, Request
from pyramid.config import Configurator
from pyramid.response import Response
from pyramid.session import SignedCookieSessionFactory
from starlette.middleware.sessions import SessionMiddleware
from starlette.testclient import TestClient
from webtest import TestApp

from tests.client.conftest import CLIENT
from tests.client.signing import SUB, fake_server
from tests.support import guides
from tests.support.home import CHECKOUT

PAGE = "login-python"
TEXT = (CHECKOUT / "docs/login-python.md").read_text("utf-8")
NAMES = dict(zip(("client_id", "client_secret"), CLIENT, strict=True))
FLASK, DJANGO, FASTAPI, PYRAMID, SIGN_OUT, SIGNED = (
    each.text for each in guides.blocks(PAGE) if each.language == "python"
)


@pytest.fixture
def fake():
    fake, running = fake_server()
    with running as server:
        fake.url = server.url
        yield fake


def run(block, fake, **names):
    names.update(NAMES, __name__=__name__)
    exec(block.replace("https://auth.example.org", fake.url), names)  # noqa: S102  ours
    return names


def there_and_back(url):
    """The path and query that a browser comes back with."""
    back = urlsplit(httpx.get(url).headers["Location"])
    return f"{back.path}?{back.query}"


def signs_in(http):
    """Through both views with a client of httpx's kind."""
    start = http.get("/sign-in?next=/me", follow_redirects=False)
    answer = http.get(there_and_back(start.headers["Location"]), follow_redirects=False)
    assert answer.headers["Location"] == "/me"
    assert http.get("/me").json() == {"user": SUB}
    start = http.get("/sign-in", follow_redirects=False)
    answer = http.get(there_and_back(start.headers["Location"]), follow_redirects=False)
    assert answer.headers["Location"] == "/"


DENIED = "/signed-in?error=access_denied&state=x"
AGAIN = '<a href="/sign-in">Sign in</a>'


def test_flask(fake):
    app = flask.Flask(__name__)
    app.secret_key = "of a test"
    names = run(FLASK, fake, app=app)
    app.add_url_rule("/me", view_func=lambda: {"user": flask.session["user"]})
    http = app.test_client()
    start = http.get("/sign-in?next=/me")
    answer = http.get(there_and_back(start.headers["Location"]))
    assert answer.headers["Location"] == "/me"
    assert http.get("/me").json == {"user": SUB}
    start = http.get("/sign-in")
    assert http.get(there_and_back(start.headers["Location"])).headers["Location"] == "/"
    for path in (DENIED, "/signed-in?code=x&state=x"):  # refused, or the Back button
        refused = http.get(path)
        assert (refused.status_code, AGAIN in refused.text) == (403, True)
    names["login"].close()


def test_fastapi(fake):
    app = FastAPI()
    app.add_middleware(SessionMiddleware, secret_key="of a test")
    names = run(FASTAPI, fake, app=app)

    @app.get("/me")
    def me(request: Request):
        return {"user": request.session["user"]}

    with TestClient(app) as http:
        signs_in(http)
        refused = http.get(DENIED)
        assert (refused.status_code, AGAIN in refused.text) == (403, True)
        assert refused.headers["Content-Type"].startswith("text/html")
    names["login"].close()


def test_pyramid(fake):
    names = run(PYRAMID, fake)
    config = Configurator(session_factory=SignedCookieSessionFactory("of a test"))
    views = {
        "/sign-in": names["sign_in"],
        "/signed-in": names["signed_in"],
        "/me": lambda request: Response(request.session["user"]),
    }
    for path, view in views.items():
        config.add_route(path, path)
        config.add_view(view, route_name=path)
    http = TestApp(config.make_wsgi_app())
    back = there_and_back(http.get("/sign-in?next=/me").location)
    assert urlsplit(http.get(back).location).path == "/me"
    assert http.get("/me").text == SUB
    refused = http.get(DENIED, status=403)
    assert refused.content_type == "text/html"
    assert AGAIN in refused.text
    names["login"].close()


def test_django(fake):
    given = {"block": DJANGO.replace("https://auth.example.org", fake.url), **NAMES}
    done = subprocess.run(
        [sys.executable, "-m", "tests.client.django_login"], input=json.dumps(given),
        capture_output=True, text=True, timeout=120, cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT / "clients/python")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"next": "/me", "user": SUB, "new session": True}


def test_sign_out_and_the_check_of_signatures(fake):
    names = run(SIGNED, fake, signed_in_url="https://app.example.org/signed-in")
    sent = []
    session = {"user": SUB}
    run(SIGN_OUT, fake, login=names["login"], session=session, id_token="a.b.c",
        redirect=sent.append)  # fmt: skip
    assert session == {}
    assert sent[0].startswith(f"{fake.url}/oauth/logout?id_token_hint=a.b.c&")
    names["login"].close()


def test_the_example_is_the_flask_of_the_page_and_signs_out(fake, monkeypatch):
    variables = {"URL": fake.url, "CLIENT_ID": CLIENT[0], "CLIENT_SECRET": CLIENT[1]}
    for name, value in variables.items():
        monkeypatch.setenv(f"AUTH_{name}", value)
    source = (CHECKOUT / "examples/sign-in/app.py").read_text("utf-8")
    module = SimpleNamespace(**run_module(source))
    http = module.app.test_client()
    assert b"Sign in" in http.get("/").data
    start = http.get("/sign-in")
    http.get(there_and_back(start.headers["Location"]))
    assert SUB.encode() in http.get("/").data
    assert http.get("/signed-in?code=ac_1&state=x").status_code == 403
    out = http.post("/sign-out")
    assert out.status_code == 303
    assert out.headers["Location"].startswith(f"{fake.url}/oauth/logout?id_token_hint=")
    assert b"Sign in" in http.get("/").data
    for line in FLASK.split("@app")[1].splitlines():
        assert line in source
    module.login.close()


def run_module(source):
    names = {"__name__": "example"}
    exec(source, names)  # noqa: S102  ours
    return names
