"""The description inside another application: its own routes only, where they really stand."""

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from pyramid.config import Configurator
from pyramid.response import Response
from webtest import TestApp

from tests.support.site import SECRET


def own(_request):
    """A view of the application around."""
    return Response("ours", content_type="text/plain")


@pytest.fixture
def http(tmp_path):
    """An application with its own routes, which includes authsite below /auth."""
    settings = {
        "authsite.secret": SECRET,
        "authsite.database-url": f"sqlite:///{tmp_path}/host.sqlite",
        "tm.manager_hook": "pyramid_tm.explicit_manager",
    }
    config = Configurator(settings=settings)
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "docs.css").write_text("host {}")
    config.add_static_view("static", str(tmp_path / "static"))
    for name, path in {"reports": "/v1/reports", "docs": "/docs"}.items():
        config.add_route(name, path)
        config.add_view(own, route_name=name, request_method="GET")
    config.include("authsite", route_prefix="auth")
    return TestApp(config.make_wsgi_app())


def test_only_our_endpoints_are_described_where_they_stand(http):
    document = http.get("/auth/v1/openapi.json").json
    OpenAPIV31SpecValidator(document).validate()
    assert document["servers"] == [{"url": "/"}]
    assert "/auth/v1/oauth/token" in document["paths"]
    metadata = "/.well-known/oauth-authorization-server"
    outside = [path for path in document["paths"] if not path.startswith("/auth/v1/")]
    assert outside == [f"/auth{metadata}", f"{metadata}/{{issuer_path}}"]
    token = document["paths"]["/auth/v1/oauth/token"]["post"]["responses"]["400"]
    schema = token["content"]["application/json"]["schema"]
    assert schema["allOf"][0]["$ref"].endswith("/OAuthErrorBody")


def test_a_mounted_application_is_described_below_its_mount(http):
    answer = http.get("/auth/v1/openapi.json", extra_environ={"SCRIPT_NAME": "/mount"})
    assert answer.json["servers"] == [{"url": "/mount"}]
    page = http.get("/auth/docs", extra_environ={"SCRIPT_NAME": "/mount"}).html
    viewer = page.find(id="viewer")
    assert viewer["data-base"] == "/mount/auth"
    assert viewer["data-document"] == "/mount/auth/v1/openapi.json"


def test_the_page_and_its_files_stand_beside_those_of_the_application_around(http):
    page = http.get("/auth/docs").html
    files = [link["href"] for link in page.find_all("link", rel="stylesheet")]
    files += [script["src"] for script in page.find_all("script")]
    assert len(files) == 4
    for address in files:
        assert address.startswith("/auth/authsite/static/")
        answer = http.get(address)
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert page.find(id="viewer")["data-base"] == "/auth"


def test_the_application_around_keeps_its_pages_and_its_static_files(http):
    assert http.get("/static/docs.css").text == "host {}"
    assert http.get("/docs").text == "ours"
    assert http.get("/v1/reports").text == "ours"
