"""Whose token opens what: applications that use codes, and tokens for one resource."""

import json

import pytest
from pyramid.request import Request, apply_request_extensions

from authsite.guards.bearer import api_guard, read_together
from authsite.guards.route_options import rules_of
from tests.support.applications import FIRST, THIRD, set_facts, token_of, tokens_of
from tests.support.endpoints import GOOD, IN_PATHS, JSON
from tests.support.host import hello
from tests.support.personal import errors
from tests.support.site import WEB, bearer
from tests.support.statements import counted
from tests.support.walk import views

# Our own views that the token of every application opens.
OPEN = {
    ("authsite.logout", "DELETE"),
    ("authsite.logout.bare", "DELETE"),
    ("authsite.oauth.userinfo", "GET"),
    ("authsite.oauth.userinfo", "POST"),
}
FORWARD = "/v1/guard/api"
RESOURCE = "https://mcp.example.com/"


def build(config):
    for name, options in {
        "open": {},
        "read": {"scope": "notes:read"},
        "user": {"caller": "user"},
        "anonymous": {"anonymous": True},
    }.items():
        config.add_route(name, f"/{name}", guard="api", **options)
        config.add_view(hello, route_name=name)


def guarded(site):
    routes = {route.name: route for route in site.app.routes_mapper.get_routes()}
    return {
        (name, method): routes[name].pattern.format(**IN_PATHS)
        for name, method in sorted(views(site))
        if rules_of(routes[name]).guard == "api" and not name.startswith("authsite.guard.")
    }


def refusals(site, make_token):
    """Our own views that refuse the token, by its application."""
    good = json.dumps(GOOD | {"email": "bo@example.com", "name": "x"}).encode()
    refused = set()
    for (name, method), path in guarded(site).items():
        answer = site.http.request(
            path,
            method=method,
            body=b"" if method == "GET" else good,
            content_type=JSON,
            headers=bearer(make_token()),
            status="*",
        )
        if answer.status_int == 403 and errors(answer) == [("login_required", None)]:
            refused.add((name, method))
    return refused


def test_the_token_of_a_third_party_manages_no_account(site):
    """F2: an API that received a token could change the name and end another sign-in."""
    site.user(confirmed=True)
    for about, scope in ((THIRD, "account"), (FIRST, "notes:read")):
        refused = refusals(site, lambda about=about, scope=scope: token_of(site, scope, **about))
        assert refused == set(guarded(site)) - OPEN
    site.login(site.client())  # nothing has changed the account


def test_a_first_party_application_manages_the_account_with_the_scope_account(site):
    site.user(confirmed=True)
    sent = {"headers": bearer(token_of(site, "account", **FIRST)), "status": 200}
    site.http.patch_json("/v1/user", {"name": "Ann"}, **sent)
    assert site.http.get("/v1/user", **sent).json["name"] == "Ann"
    for path in ("/v1/profile", "/v1/user/sessions", "/v1/user/tokens"):
        site.http.get(path, **sent)


@pytest.mark.parametrize("about", [THIRD, FIRST])
def test_every_application_may_log_out_and_revoke(site, about):
    site.user()
    keys, tokens = tokens_of(site, **about)
    site.revoke(keys, tokens["access_token"])
    site.http.delete("/v1/logout", headers=bearer(token_of(site, **about)), status=200)
    assert [family.revoked_at is None for family in site.families()] == [False, False]


def code(answer):
    return errors(answer)[0][0] if answer.status_int >= 400 else None


@pytest.mark.parametrize("cache", ["0s", "60s"])
def test_a_third_party_passes_only_where_a_scope_is_named_that_it_has(host_with, cache):
    site = host_with(build, guard_cache=cache)
    site.user()
    wanted = {
        "/open": (None, None, "insufficient_scope"),
        "/read": (None, None, None),
        "/user": (None, None, "insufficient_scope"),
        "/anonymous": (None, None, "insufficient_scope"),
        FORWARD: (None, None, "insufficient_scope"),
        f"{FORWARD}?scope=notes:read": (None, None, None),
        f"{FORWARD}?scope=notes:write": ("insufficient_scope",) * 3,
    }
    tokens = [token_of(site, "notes:read", **about) for about in ({}, FIRST, THIRD)]
    for _ in range(2):  # the second time from memory, if there is one
        for path, codes in wanted.items():
            for token, expected in zip(tokens, codes, strict=True):
                answer = site.http.get(path, headers=bearer(token), status="*")
                assert code(answer) == expected, path


def test_where_no_scope_is_asked_none_is_named(host_with):
    site = host_with(build)
    site.user()
    headers = bearer(token_of(site, "notes:read", **THIRD))
    for path in ("/open", FORWARD):
        answer = site.http.get(path, headers=headers, status=403)
        assert answer.headers["WWW-Authenticate"] == 'Bearer error="insufficient_scope"'
    headers = bearer(token_of(site, "other", **THIRD))
    answer = site.http.get("/read", headers=headers, status=403)
    assert answer.headers["WWW-Authenticate"] == (
        'Bearer error="insufficient_scope", scope="notes:read"'
    )


@pytest.mark.parametrize("cache", ["0s", "60s"])
@pytest.mark.parametrize("about", [{}, FIRST, THIRD])
def test_a_token_for_a_resource_opens_nothing_of_ours_and_no_guard(host_with, cache, about):
    site = host_with(build, guard_cache=cache)
    site.user()
    token = token_of(site, "notes:read account", audience=RESOURCE, **about)
    paths = ("/open", "/read", "/anonymous", FORWARD, f"{FORWARD}?scope=notes:read", "/v1/user")
    for path in (*paths, *paths):
        answer = site.http.get(path, headers=bearer(token), status=401)
        assert answer.headers["WWW-Authenticate"] == (
            'Bearer realm="authsite", error="invalid_token"'
        )
    site.http.delete("/v1/logout", headers=bearer(token), status=401)
    assert [family.revoked_at for family in site.families()] == [None]


def test_the_memory_of_a_guard_keeps_who_may_pass(host_with):
    """With `guard-cache` a caller is read once, for a route that it may open and one that not."""
    site = host_with(build, guard_cache="60s")
    site.user()
    headers = bearer(token_of(site, "notes:read", **THIRD))
    site.http.get("/read", headers=headers, status=200)
    with counted(site.database) as statements:
        site.http.get("/read", headers=headers, status=200)
    assert statements == []
    site.http.get("/open", headers=headers, status=403)
    site.http.get("/read", headers=headers, status=200)


def test_callers_that_are_read_again_together_keep_it(host_with):
    site = host_with(build)
    site.user()
    services = site.app.registry["authsite"]
    sent = [bearer(token_of(site, "a", audience=RESOURCE, **about)) for about in (FIRST, THIRD)]
    callers = [api_guard(_request(site, headers)) for headers in sent]
    again = read_together(services, callers)
    assert [(each.third_party, each.audience) for each in again] == [
        (False, RESOURCE),
        (True, RESOURCE),
    ]


def _request(site, headers):
    request = Request.blank("/", headers=headers)
    request.registry = site.app.registry
    apply_request_extensions(request)
    return request


def test_the_guard_asks_the_database_once(host_with):
    site = host_with(build)
    site.user()
    headers = bearer(token_of(site, "notes:read", **THIRD))
    with counted(site.database) as statements:
        site.http.get("/read", headers=headers, status=200)
    assert len(statements) == 1


def test_an_application_s_token_has_the_methods_of_its_sign_in(host_with):
    seen = []

    def build(config):
        config.add_route("x", "/x", guard="api", scope="a")
        config.add_view(
            lambda request: seen.append(request.authsite.caller) or hello(request), route_name="x"
        )

    site = host_with(build, **WEB)
    site.user()
    keys, tokens = tokens_of(site, "a")
    for about in ({}, THIRD, FIRST):
        set_facts(site, keys.client_id, **about)
        site.http.get("/x", headers=bearer(tokens["access_token"]), status=200)
    assert [caller.third_party for caller in seen] == [None, True, False]
    assert {caller.proved_by for caller in seen} == {("pwd",)}
