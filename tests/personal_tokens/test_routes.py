"""Where a personal access token is refused: at every API view of ours that does not name it."""

import json

import pytest

from authsite.guards.route_options import rules_of
from tests.support.endpoints import GOOD, IN_PATHS, JSON
from tests.support.host import hello
from tests.support.personal import created, errors
from tests.support.site import WEB, bearer
from tests.support.walk import views

# The views of ours that such a token opens. The author of a new view decides about it here.
OPEN = {
    ("authsite.user", "GET"),
    ("authsite.profile", "GET"),
    ("authsite.logout", "DELETE"),
    ("authsite.logout.bare", "DELETE"),
    ("authsite.verification.notification", "POST"),
    ("authsite.guard.api", "GET"),
}


@pytest.fixture
def site(site_with):
    made = site_with(**WEB)
    made.ann = made.user(confirmed=True)
    made.keys = made.first_party("web")
    return made


def guarded(site):
    """Every view with the api guard, as (route, method) -> a path of the route."""
    routes = {route.name: route for route in site.app.routes_mapper.get_routes()}
    return {
        (name, method): routes[name].pattern.format(**IN_PATHS)
        for name, method in sorted(views(site))
        if rules_of(routes[name]).guard == "api"
    }


def send(site, method, path, token, body):
    return site.http.request(
        path,
        method=method,
        body=b"" if method == "GET" else body,
        content_type=JSON,
        headers=bearer(token),
        status="*",
    )


def is_refused(answer):
    return answer.status_int == 403 and errors(answer) == [("login_required", None)]


@pytest.mark.control("T27")
def test_the_table_of_views_that_a_personal_token_opens(site):
    paths = guarded(site)
    assert set(paths) >= OPEN
    assert len(paths) - len(OPEN) >= 11
    good = json.dumps(GOOD | {"email": "bo@example.com", "name": "x"}).encode()
    wrong = {}
    for view, path in paths.items():
        token = created(site, site.login(site.keys)["access_token"])
        answer = send(site, view[1], path, token, good)
        if is_refused(answer) == (view in OPEN):
            wrong[view] = answer.status
    assert wrong == {}
    site.login(site.keys)  # nothing has changed the account


def test_a_login_s_token_is_refused_nowhere_for_that_reason(site):
    for (_, method), path in guarded(site).items():
        token = site.login(site.keys)["access_token"]
        answer = send(site, method, path, token, b"{}")
        assert "login_required" not in answer.text
        assert answer.status_int != 401


@pytest.mark.control("T27")
def test_the_refusal_does_not_depend_on_the_guard_s_memory(site_with):
    site = site_with(guard_cache="60s")
    site.user()
    login = site.login(site.client())["access_token"]
    token = created(site, login)
    for _ in range(2):
        site.me(token)
        assert is_refused(send(site, "GET", "/v1/user/tokens", token, b""))
        assert send(site, "GET", "/v1/user/tokens", login, b"").status_int == 200


@pytest.mark.parametrize("body", [b"", b"{", b'{"name": 1}', b"x" * 70_000])
def test_the_refusal_comes_before_the_body_is_read(site, body):
    token = created(site, site.login(site.keys)["access_token"])
    assert is_refused(send(site, "POST", "/v1/user/tokens", token, body))


def test_a_refused_current_password_is_not_checked(site, hashes):
    token = created(site, site.login(site.keys)["access_token"])
    hashes.clear()
    assert is_refused(send(site, "DELETE", "/v1/user", token, json.dumps(GOOD).encode()))
    assert hashes == []
    assert "reauthentication.failed" not in site.events()


def test_a_new_view_of_ours_is_closed_and_a_host_s_is_open(host_with):
    def build(config):
        for name, options in {
            "authsite.new": {},
            "authsite.named": {"personal_token": True},
            "mine": {},
        }.items():
            config.add_route(name, f"/v1/x/{name}", guard="api")
            config.add_view(hello, route_name=name, request_method="GET", **options)

    site = host_with(build)
    site.user()
    token = created(site, site.login(site.client())["access_token"])
    for name, status in {"authsite.new": 403, "authsite.named": 200, "mine": 200}.items():
        site.http.get(f"/v1/x/{name}", headers=bearer(token), status=status)
