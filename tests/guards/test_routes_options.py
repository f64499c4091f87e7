"""A host application's own routes: guard=, scope= and verified= hold whatever the host says."""

import pytest
from pyramid.config import not_
from pyramid.exceptions import ConfigurationError
from pyramid.httpexceptions import HTTPNotFound
from pyramid.registry import predvalseq
from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.users import service as users
from tests.support.acting import acting
from tests.support.host import route
from tests.support.pages import sign_in
from tests.support.site import bearer

NOT_AUTHENTICATED = {
    "message": "An exception occurred when trying to authenticate the user.",
    "errors": [],
}


def nothing(config):
    """Adds no route."""


def codes(answer):
    return [item["code"] for item in answer.json["errors"]]


@pytest.mark.parametrize("prefix", [None, "auth"])
@pytest.mark.parametrize("allows", [True, False])
@pytest.mark.parametrize("permission", [None, NO_PERMISSION_REQUIRED, "view"])
def test_the_guard_holds_whatever_the_view_and_the_host_permit(
    host_with, prefix, allows, permission
):
    site = host_with(route(view_permission=permission, guard="api"), prefix=prefix, allows=allows)
    for headers in ({}, bearer("at_x"), {"Authorization": "Basic eDp5"}):
        answer = site.http.get("/v1/reports", headers=headers, status=401)
        assert answer.json == NOT_AUTHENTICATED
        assert answer.headers["WWW-Authenticate"].startswith('Bearer realm="authsite"')


def test_the_guard_holds_without_any_policy_of_the_host(host_with):
    site = host_with(route(guard="api"), policy=False)
    site.http.get("/v1/reports", status=401)


@pytest.mark.parametrize("prefix", [None, "auth"])
@pytest.mark.parametrize("included", ["before", "after"])
def test_a_living_token_opens_the_route_and_the_view_knows_the_caller(host_with, prefix, included):
    build, other = (route(guard="api"), nothing)[:: 1 if included == "before" else -1]
    site = host_with(build, before=other, prefix=prefix)
    site.http.get("/v1/reports", status=401)
    site.user()
    tokens = site.login(site.client())
    headers = bearer(tokens["access_token"])
    assert site.http.get("/v1/reports", headers=headers).text == "hello ann@example.com"
    site.http.delete(f"{site.prefix}/v1/logout", headers=headers)
    site.http.get("/v1/reports", headers=headers, status=401)


def test_the_guard_answers_in_json_wherever_the_route_is(host_with):
    site = host_with(route("/reports.html", guard="api"))
    for accept in ("text/html", "application/json", "*/*"):
        answer = site.http.get("/reports.html", headers={"Accept": accept}, status=401)
        assert answer.json == NOT_AUTHENTICATED


def test_every_method_of_a_guarded_route_is_guarded(host_with):
    site = host_with(route(guard="api"))
    for method in ("get", "head", "post", "put", "patch", "delete", "options"):
        getattr(site.http, method)("/v1/reports", status=401)


def test_a_route_without_a_guard_is_the_hosts_affair(host_with):
    site = host_with(route())
    assert site.http.get("/v1/reports").text == "hello you"
    assert site.http.get("/v1/reports", headers=bearer("at_x")).text == "hello you"


@pytest.mark.parametrize(
    ("needs", "has", "opens"),
    [
        ("reports:read", "reports:read", True),
        ("reports:read", "reports:read reports:write", True),
        ("reports:read reports:write", "reports:write reports:read", True),
        ("reports:read reports:write", "reports:read", False),
        ("reports:read", "reports:write", False),
        ("reports:read", "reports:reader", False),
        ("reports:read", "", False),
    ],
)
def test_a_token_needs_every_scope_of_the_route(host_with, needs, has, opens):
    site = host_with(route(guard="api", scope=needs))
    site.user()
    keys = site.client(scope=has, default_scope=has)
    headers = bearer(site.login(keys)["access_token"])
    if opens:
        site.http.get("/v1/reports", headers=headers)
        return
    answer = site.http.get("/v1/reports", headers=headers, status=403)
    assert codes(answer) == ["insufficient_scope"]
    wanted = f'Bearer error="insufficient_scope", scope="{needs}"'
    assert answer.headers["WWW-Authenticate"] == wanted


def test_without_a_token_a_missing_scope_is_not_spoken_of(host_with):
    site = host_with(route(guard="api", scope="reports:read"))
    assert site.http.get("/v1/reports", status=401).json == NOT_AUTHENTICATED


def test_a_client_of_its_own_passes_a_guard_and_its_scope(host_with):
    site = host_with(route(guard="api", scope="reports:read"))
    keys = site.client("personal", scope="reports:read", default_scope="reports:read")
    token = site.token(keys, grant_type="client_credentials").json["access_token"]
    assert site.http.get("/v1/reports", headers=bearer(token)).text == "hello you"


def test_verified_takes_confirmed_users_only(host_with):
    site = host_with(route(guard="api", verified=True))
    ann = site.user()
    headers = bearer(site.login(site.client())["access_token"])
    answer = site.http.get("/v1/reports", headers=headers, status=403)
    assert codes(answer) == ["email_not_verified"]
    with site.db() as db:
        users.confirm(acting(db), users.find(db, str(ann.id)))
    site.http.get("/v1/reports", headers=headers)


def test_verified_refuses_a_client_that_acts_for_no_user(host_with):
    site = host_with(route(guard="api", verified=True))
    token = site.token(site.client("personal"), grant_type="client_credentials").json
    answer = site.http.get("/v1/reports", headers=bearer(token["access_token"]), status=403)
    assert codes(answer) == ["user_required"]


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"require_email_verification": "false"}, {"verified": True}),
        ({}, {"verified": False}),
        ({}, {}),
    ],
)
def test_without_verified_or_its_setting_an_unconfirmed_user_comes_in(host_with, settings, options):
    site = host_with(route(guard="api", **options), **settings)
    site.user()
    headers = bearer(site.login(site.client())["access_token"])
    site.http.get("/v1/reports", headers=headers)


def test_variant_b_refuses_the_unconfirmed_on_every_guarded_route(host_with):
    confirmation = {"variant": "B", "require_email_confirmation": "true"}
    site = host_with(route(guard="api"), **confirmation)
    ann = site.user(confirmed=True)
    headers = bearer(site.login(site.client())["access_token"])
    site.http.get("/v1/reports", headers=headers)
    with site.db() as db:
        users.find(db, str(ann.id)).email_verified_at = None
    answer = site.http.get("/v1/reports", headers=headers, status=403)
    assert codes(answer) == ["email_not_confirmed"]
    site.http.delete("/v1/logout", headers=headers)


@pytest.mark.parametrize(
    "guard",
    [
        *(None, "apis", "API", "", " api", True, 0, ("api", "web"), ["api"], b"api"),
        *(not_("api"), not_(None)),
        *(predvalseq(values) for values in ((), ("api",), ("api", "web"))),
    ],
)
def test_m8_a_value_that_is_not_one_guard_stops_the_start(host_with, guard):
    with pytest.raises(ConfigurationError, match="exactly one guard, 'api' or 'web'"):
        host_with(route(guard=guard))


@pytest.mark.parametrize(
    "option",
    [
        *({"scope": value} for value in (None, "", " ", ["a"], ("a", "b"), 'a"b', "a\n", 1)),
        *({"verified": value} for value in (None, "true", 1, 0, not_(True))),
        *({"unconfirmed": value} for value in (None, "false", 1)),
        *({"anonymous": value} for value in (None, "false", 1)),
        *(
            {"group": value}
            for value in (None, "", "Ops", "a b", "a,b", "x" * 33, ["ops"], "ops\n")
        ),
        *({"group": value} for value in ("authsite:ops", "ops=aal2", not_("ops"), 1)),
    ],
)
def test_m8_an_unreadable_value_of_any_option_stops_the_start(host_with, option):
    [name] = option
    with pytest.raises(ConfigurationError, match=f"{name}=.* on a route: give"):
        host_with(route(guard="api", **option))


def test_m8_the_value_counts_for_routes_made_before_authsite_was_included_too(host_with):
    def early(config):
        config.add_route("early", "/early", guard=None)

    with pytest.raises(ConfigurationError, match="exactly one guard"):
        host_with(route(), before=early)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"guard": "web", "scope": "reports:read"}, "has no scope"),
        ({"guard": "api", "anonymous": True, "scope": "reports:read"}, "anonymous=True would"),
        ({"guard": "api", "anonymous": True, "verified": True}, "anonymous=True would"),
        ({"guard": "api", "verified": True, "unconfirmed": True}, "contradict"),
        ({"guard": "api", "anonymous": True, "group": "ops"}, "anonymous=True would"),
        ({"guard": "web", "anonymous": True, "group": "ops"}, "stands alone"),
        ({"guard": "api", "caller": "client", "group": "ops"}, "about users"),
        ({"group": "ops"}, "no guard to enforce"),
    ],
)
def test_trial_16_options_that_contradict_each_other_stop_the_start(host_with, options, why):
    with pytest.raises(ConfigurationError, match=f"'reports': .*{why}"):
        host_with(route(**options))


def test_trial_16_a_scope_that_is_not_declared_stops_the_start(host_with):
    declared = "reports:read: Read reports\nreports:write: Write reports"
    host_with(route(guard="api", scope="reports:write reports:read"), scopes=declared)
    host_with(route(guard="api", scope="anything"))  # no scopes are declared
    with pytest.raises(ConfigurationError, match=r"reports:raed; add it to authsite\.scopes"):
        host_with(route(guard="api", scope="reports:read reports:raed"), scopes=declared)


@pytest.mark.parametrize("guard", ["api", "web"])
def test_m8_the_guard_runs_before_the_factory_of_the_route(host_with, guard):
    asked = []

    def load(request):
        asked.append(request.matchdict["id"])
        raise HTTPNotFound

    site = host_with(route("/reports/{id}", guard=guard, factory=load))
    site.user()
    headers = {"Accept": "application/json"}
    for id in ("1", "2"):
        assert site.http.get(f"/reports/{id}", headers=headers, status=401).json == (
            NOT_AUTHENTICATED
        )
    assert asked == []
    if guard == "api":
        headers |= bearer(site.login(site.client())["access_token"])
    else:
        sign_in(site)
    site.http.get("/reports/1", headers=headers, status=404)
    assert asked == ["1"]


def test_m8_files_of_the_host_are_guarded_too(host_with):
    def build(config):
        config.add_static_view("files", "tests:support", guard="web")

    site = host_with(build)
    site.user()
    site.http.get("/files/host.py", status=302)
    sign_in(site)
    assert "HostPolicy" in site.http.get("/files/host.py", status=200).text


def test_a_stranger_on_a_page_is_led_to_the_login_page_and_back(host_with):
    site = host_with(route("/billing", guard="web"), prefix="auth")
    answer = site.http.get("/billing?month=5", headers={"Accept": "text/html"}, status=302)
    assert answer.headers["Location"].endswith("/auth/login?next=/billing%3Fmonth%3D5")


def test_a_stranger_who_asks_a_page_for_json_gets_401(host_with):
    site = host_with(route("/billing", guard="web"))
    answer = site.http.get("/billing", headers={"Accept": "application/json"}, status=401)
    assert answer.json == NOT_AUTHENTICATED


def test_a_bearer_token_never_opens_a_web_route(host_with):
    site = host_with(route("/billing", guard="web"))
    site.user()
    headers = bearer(site.login(site.client())["access_token"])
    site.http.get("/billing", headers=headers, status=302)


@pytest.mark.parametrize("options", [{"scope": "reports:read"}, {"verified": True}])
def test_an_option_that_no_guard_keeps_stops_the_start(host_with, options):
    with pytest.raises(ConfigurationError, match="reports"):
        host_with(route(**options))


def test_the_options_of_a_route_that_only_names_a_url_are_checked_too(host_with):
    def build(config):
        config.add_route("elsewhere", "https://cdn.example.org/{file}", static=True, verified=True)

    with pytest.raises(ConfigurationError, match="'elsewhere': it has options but no guard"):
        host_with(build)
