"""Included in a host, authsite answers for its own paths and leaves the rest to the host."""

import pytest
from pyramid.interfaces import ISecurityPolicy, ISessionFactory
from pyramid.response import Response
from pyramid.session import SignedCookieSessionFactory
from sqlalchemy.exc import OperationalError
from webtest import TestApp

from tests.support import databases
from tests.support.host import HostPolicy, HostSite, hello
from tests.support.site import PASSWORD, WEB, bearer

pytestmark = pytest.mark.both_databases

LOGIN_FORM = {"username": "ann@example.com", "password": PASSWORD}
APP = "https://app.example.org"


def pages(config):
    """A page of the host, and pages that fail."""
    for name, view in {"page": hello, "broken": fail, "storage": fail_to_store}.items():
        config.add_route(name, f"/{name}")
        config.add_view(view, route_name=name)


def pages_with_own_errors(config):
    """The same, with error views of the host."""
    pages(config)
    config.add_notfound_view(lambda request: Response("host: not found", status=404))
    config.add_exception_view(lambda error, request: Response("host: bug", status=500))


def fail(request):
    raise RuntimeError("a bug of the host")


def fail_to_store(request):
    raise OperationalError("SELECT", {}, Exception("the host's own database"))


def test_pages_of_the_host_keep_their_headers(host_with):
    site = host_with(pages, cors_origins=APP)
    headers = site.http.get("/page", headers={"Origin": APP}).headers
    assert sorted(headers) == ["Content-Length", "Content-Type"]


def test_errors_of_the_host_keep_their_form(host_with):
    site = host_with(pages_with_own_errors)
    for path in ("/nowhere", "/v1/nowhere"):
        assert site.http.get(path, status=404).text == "host: not found"
    assert site.http.get("/broken", status=500).text == "host: bug"


def test_the_hosts_own_database_errors_are_the_hosts_affair(host_with):
    site = host_with(pages_with_own_errors)
    assert site.http.get("/storage", status=500).text == "host: bug"
    site = host_with(pages)
    with pytest.raises(OperationalError):
        site.http.get("/storage")


def test_a_bug_of_a_host_without_error_views_is_raised(host_with):
    site = host_with(pages)
    with pytest.raises(RuntimeError, match="of the host"):
        site.http.get("/broken")


def test_the_hosts_policy_permission_and_session_factory_are_left_alone(host_with):
    site = host_with(pages)
    registry = site.app.registry
    assert isinstance(registry.getUtility(ISecurityPolicy), HostPolicy)
    assert registry.queryUtility(ISessionFactory) is None
    assert [key for key in registry.settings if key.startswith(("tm.", "retry."))] == []


@pytest.mark.parametrize("prefix", [None, "auth", "a/b"])
def test_the_whole_walk_works_under_a_prefix(host_with, prefix):
    site = host_with(pages, prefix=prefix, **WEB)
    site.first_party("web")
    site.user()
    base = site.prefix
    answer = site.http.post(f"{base}/v1/clients/web/login", LOGIN_FORM)
    assert f"Path={base}/v1/clients/web;" in "; ".join(answer.headers.getall("Set-Cookie")) + ";"
    origin = {"Origin": "http://localhost"}
    fresh = site.http.post(f"{base}/v1/clients/web/refresh", headers=origin).json
    headers = bearer(fresh["access_token"])
    assert site.http.get(f"{base}/v1/user", headers=headers).json["email"] == "ann@example.com"
    out = site.http.delete(f"{base}/v1/logout/", headers=headers)
    assert f"Path={base}/v1/clients/web;" in "; ".join(out.headers.getall("Set-Cookie")) + ";"
    site.http.get(f"{base}/v1/user", headers=headers, status=401)
    if prefix:
        site.http.get("/v1/user", headers=headers, status=404)


@pytest.mark.parametrize("prefix", [None, "auth"])
def test_our_own_errors_and_headers_are_ours_in_a_host_too(host_with, prefix):
    site = host_with(pages, prefix=prefix)
    token = f"{site.prefix}/v1/oauth/token"
    answer = site.http.get(token, status=405)
    assert (answer.headers["Allow"], set(answer.json)) == (
        "POST",
        {"error", "error_description", "message"},
    )
    answer = site.http.post(token, {"grant_type": "x"}, status=400)
    assert answer.json["error"] == "unsupported_grant_type"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    answer = site.http.get(f"{site.prefix}/v1/user", status=401)
    assert answer.json["errors"] == []


def test_our_endpoints_work_whatever_the_host_permits_by_default(host_with):
    def strict(config):
        config.set_default_permission("administrate")

    site = host_with(pages, before=strict, allows=False)
    site.user()
    site.http.get("/page", status=403)  # the host's own rule, for the host's own page
    tokens = site.login(site.client())
    site.me(tokens["access_token"])
    site.logout(tokens["access_token"])
    site.me(tokens["access_token"], status=401)


def test_our_endpoints_work_though_the_host_asks_for_its_csrf_token(host_with):
    def careful(config):
        config.set_default_csrf_options(require_csrf=True)
        config.set_session_factory(SignedCookieSessionFactory("of the host"))

    site = host_with(pages, before=careful)
    site.http.post("/page", status=400)  # the host's own rule, for the host's own page
    site.user()
    tokens = site.login(site.client())
    site.logout(tokens["access_token"])


def test_a_host_may_have_included_pyramid_tm_already(host_with):
    def equipped(config):
        config.include("pyramid_tm")
        config.include("pyramid_jinja2")

    site = host_with(pages, before=equipped)
    site.user()
    site.me(site.login(site.client())["access_token"])


def test_what_an_error_keeps_is_kept_in_a_host_too(host_with):
    site = host_with(pages)
    site.user()
    keys = site.client()
    site.login(keys, password="wrong", status=400)
    assert "login.failed" in site.events()
    first = site.login(keys)["refresh_token"]
    second = site.token(keys, grant_type="refresh_token", refresh_token=first).json
    third = site.token(keys, grant_type="refresh_token", refresh_token=second["refresh_token"])
    site.token(keys, 400, grant_type="refresh_token", refresh_token=first)
    site.me(third.json["access_token"], status=401)


@pytest.mark.control("D02")
def test_a_guard_that_cannot_ask_the_database_answers_503_on_a_hosts_route(fresh_url):
    def guarded(config):
        pages_with_own_errors(config)
        config.add_route("reports", "/reports", guard="api")
        config.add_view(hello, route_name="reports")

    site = HostSite(databases.migrated(fresh_url), guarded)
    site.user()
    headers = bearer(site.login(site.client())["access_token"])
    site.http.get("/reports", headers=headers)
    with databases.away(site.database):
        answer = site.http.get("/reports", headers=headers, status=503)
    assert [item["code"] for item in answer.json["errors"]] == ["temporarily_unavailable"]
    assert int(answer.headers["Retry-After"]) >= 1
    site.http.get("/reports", headers=headers)
    site.database.dispose()


@pytest.mark.control("S10")
@pytest.mark.parametrize("prefix", [None, "auth"])
def test_cors_is_for_our_own_paths_in_a_host(host_with, prefix):
    site = host_with(pages, prefix=prefix, cors_origins=APP)
    asked = {"Origin": APP, "Access-Control-Request-Method": "GET"}
    answer = site.http.options(f"{site.prefix}/v1/user", headers=asked, status=204)
    assert answer.headers["Access-Control-Allow-Origin"] == APP
    answer = site.http.get(f"{site.prefix}/v1/user", headers={"Origin": APP}, status=401)
    assert answer.headers["Access-Control-Allow-Origin"] == APP
    for path in ("/page", "/v1/nowhere"):
        answer = site.http.options(path, headers=asked, status="*")
        assert not [name for name in answer.headers if name.startswith("Access-Control")]


def test_a_host_below_a_mount_point_is_reached_there(host_with):
    site = host_with(pages, **WEB)
    site.first_party("web")
    site.user()

    def mounted(environ, start_response):
        return site.app(environ | {"SCRIPT_NAME": "/mount"}, start_response)

    answer = TestApp(mounted).post("/v1/clients/web/login", LOGIN_FORM)
    assert "Path=/mount/v1/clients/web;" in "; ".join(answer.headers.getall("Set-Cookie")) + ";"
