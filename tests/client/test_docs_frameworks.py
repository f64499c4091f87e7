"""docs/flask.md, fastapi.md, django.md and service-to-service.md: the code beside the examples."""

import asyncio
import re

import flask
import httpx
import pytest
from fastapi import FastAPI, Request

from authsite_client import IDENTITY, VerificationError
from tests.client.conftest import CLAIMS, CLIENT, by_token
from tests.support import guides
from tests.support.home import CHECKOUT
from tests.support.site import bearer

URL = "https://auth.example.org"
# For Django, which reads them from a module.
urlpatterns = []


@pytest.fixture
def server(server):
    server.respond = by_token
    return server


def python_blocks(page):
    return [
        each.text for each in guides.blocks(page) if each.language == "python" and not each.title
    ]


def run(blocks, server, **names):
    """The names that the blocks of a page define."""
    names["__name__"] = __name__
    names.update(zip(("client_id", "client_secret"), CLIENT, strict=True))
    for block in blocks:
        exec(block.replace(URL, server.url), names)  # noqa: S102  ours
    return names


def test_the_first_lines_for_flask_protect_everything_but_the_home_page(server):
    app = flask.Flask(__name__)
    names = run(python_blocks("flask")[:1], server, app=app, request=flask.request)
    http = app.test_client()
    assert http.get("/me").status_code == 401
    assert http.get("/me", headers=bearer("at_client")).status_code == 403
    assert http.get("/me", headers=bearer("at_1")).json == {"user": CLAIMS["sub"]}
    names["verifier"].close()


GUARDED = {"/orders/": "orders:read", "/reports": "reports:read"}


@pytest.mark.parametrize("path", GUARDED)
def test_a_blueprint_and_a_view_of_flask_guard_themselves(server, verifier, path):
    app = flask.Flask(__name__)
    app.errorhandler(VerificationError)(lambda error: (error.body, error.status, error.headers))
    blocks = python_blocks("flask")[1:]
    names = run(blocks, server, app=app, request=flask.request, verifier=verifier)
    names["orders"].add_url_rule("/", view_func=lambda: {"user": names["g"].identity.sub})
    app.register_blueprint(names["orders"])
    http = app.test_client()
    assert http.get(path).status_code == 401
    assert http.get(path, headers=bearer("at_1")).json["errors"][0]["code"] == "insufficient_scope"
    scope = GUARDED[path]
    server.respond = lambda request: (200, {}, {**CLAIMS, "scope": scope})
    assert http.get(path, headers=bearer("at_2")).json == {"user": CLAIMS["sub"]}
    client = {**CLAIMS, "scope": scope, "owner": "client"}
    server.respond = lambda request: (200, {}, client)
    assert http.get(path, headers=bearer("at_3")).json["errors"][0]["code"] == "user_required"


def test_the_first_lines_for_fastapi_protect_everything_but_the_home_page(server):
    app = FastAPI()
    names = run(python_blocks("fastapi"), server, app=app, Request=Request)

    async def ask():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://app") as http:
            found = [
                await http.get("/me", headers=headers)
                for headers in ({}, bearer("at_client"), bearer("at_1"))
            ]
        return [each.status_code for each in found], found[-1].json()

    assert asyncio.run(ask()) == ([401, 403, 200], {"user": CLAIMS["sub"]})
    names["verifier"].close()


def test_the_first_lines_for_django_are_those_of_the_example():
    [block, *_] = python_blocks("django")
    source = (CHECKOUT / "examples/django/access_tokens.py").read_text("utf-8")
    assert block in re.sub(r'    """``request\.user.*?"""\n\n', "", source)


def test_django_without_rest_framework_is_behind_the_middleware(server, verifier, monkeypatch):
    from django.conf import settings
    from django.core.wsgi import get_wsgi_application
    from django.http import HttpResponse
    from django.urls import path
    from webtest import TestApp

    def show(request):
        request.META[IDENTITY].require(request.GET["scope"])
        return HttpResponse(request.META[IDENTITY].sub)

    _, wsgi, middleware = python_blocks("django")
    names = {"HttpResponse": HttpResponse, "get_wsgi_application": get_wsgi_application}
    if not settings.configured:  # another test of this process may have done it
        settings.configure()
    own = {"ROOT_URLCONF": __name__, "MIDDLEWARE": [f"{__name__}.Denials"]}
    for name, value in {"ALLOWED_HOSTS": ["*"], **own}.items():
        monkeypatch.setattr(settings, name, value, raising=False)
    urlpatterns[:] = [path("me", show)]
    # The page shows the middleware last, and Django needs it first.
    names = run([wsgi.split("\n\n")[0], middleware], server, verifier=verifier, **names)
    globals()["Denials"] = names["Denials"]
    names = run([wsgi], server, **names)
    http = TestApp(names["application"])
    assert http.get("/me?scope=notes:read", status=401)
    answer = http.get("/me?scope=notes:read", headers=bearer("at_1"))
    assert answer.text == CLAIMS["sub"]
    answer = http.get("/me?scope=notes:delete", headers=bearer("at_1"), status=403)
    assert answer.json["errors"][0]["code"] == "insufficient_scope"


def test_the_first_lines_of_a_service_are_those_of_its_files():
    """They differ in where the values come from."""
    files = "".join(each.text for each in guides.blocks("service-to-service") if each.is_file)
    caller, called = python_blocks("service-to-service")
    assert called in files
    for word in re.findall(r"[\w.]+\(", caller):
        assert word in files
