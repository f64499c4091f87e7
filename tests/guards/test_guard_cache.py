"""`guard-cache`: a process accepts again what it has just accepted, and refuses nothing by it."""

import time

import pytest
from pyramid.request import Request, apply_request_extensions

from authsite.guards import bearer as bearer_guard
from authsite.users import service as users
from tests.support.acting import acting
from tests.support.host import hello
from tests.support.pages import sign_in
from tests.support.site import bearer
from tests.support.statements import counted

pytestmark = pytest.mark.both_databases


def build(config):
    for guard, path in (("api", "/v1/reports"), ("web", "/reports")):
        for name, more in (("open", {}), ("verified", {"verified": True})):
            config.add_route(f"{guard}.{name}", f"{path}/{name}", guard=guard, **more)
            config.add_view(hello, route_name=f"{guard}.{name}")


@pytest.fixture
def site(host_with):
    """A host that accepts from memory for a minute."""
    return host_with(build, guard_cache="60s", refresh_grace="1h")


@pytest.fixture
def other(site, host_with):
    """Another process on the same database."""
    return host_with(build)


@pytest.fixture
def tokens(site):
    site.user()
    return site.login(site.client())


def test_without_the_setting_there_is_no_memory(host_with):
    site = host_with(build)
    guards = site.app.registry["authsite.guards"].by_name.values()
    assert [guard.recent for guard in guards] == [None, None]


def test_an_accepted_token_is_accepted_again_without_a_query(site, tokens):
    headers = bearer(tokens["access_token"])
    first = site.http.get("/v1/reports/open", headers=headers, status=200)
    with counted(site.database) as statements:
        again = site.http.get("/v1/reports/open", headers=headers, status=200)
    assert statements == []
    assert again.text == first.text == "hello ann@example.com"


def test_a_revocation_elsewhere_is_seen_by_what_is_not_a_get(site, other, tokens):
    headers = bearer(tokens["access_token"])
    site.http.get("/v1/reports/open", headers=headers, status=200)
    other.logout(tokens["access_token"])
    site.http.get("/v1/reports/open", headers=headers, status=200)
    site.http.post("/v1/reports/open", headers=headers, status=401)
    # This process knows it now, too.
    site.http.get("/v1/reports/open", headers=headers, status=401)


def test_a_revocation_holds_when_the_time_is_over(host_with, other):
    site = host_with(build, guard_cache="1s")
    site.user()
    token = site.login(site.client())["access_token"]
    headers = bearer(token)
    site.http.get("/v1/reports/open", headers=headers, status=200)
    other.logout(token)
    revoked_at = time.monotonic()
    accepted = []
    while site.http.get("/v1/reports/open", headers=headers, status="*").status_int == 200:
        accepted.append(time.monotonic())
        assert accepted[-1] < revoked_at + 30
    # Only a request that began within the second was accepted.
    assert all(before < revoked_at + 1 for before in accepted[:-1])


def test_a_logout_here_holds_here_at_once(site, tokens):
    headers = bearer(tokens["access_token"])
    site.http.get("/v1/guard/api", headers=headers, status=204)
    site.logout(tokens["access_token"])
    site.http.get("/v1/guard/api", headers=headers, status=401)


def test_before_a_refusal_the_database_is_asked(site, other, tokens):
    headers = bearer(tokens["access_token"])
    site.http.get("/v1/reports/open", headers=headers, status=200)
    site.http.get("/v1/reports/verified", headers=headers, status=403)
    with other.db() as db:
        users.confirm(acting(db), users.find(db, "ann@example.com"))
    site.http.get("/v1/reports/open", headers=headers, status=200)
    site.http.get("/v1/reports/verified", headers=headers, status=200)


def test_a_refusal_is_never_remembered(site, other, tokens):
    headers = bearer(tokens["access_token"])
    site.http.get("/v1/reports/verified", headers=headers, status=403)
    with other.db() as db:
        users.confirm(acting(db), users.find(db, "ann@example.com"))
    site.http.get("/v1/reports/verified", headers=headers, status=200)


def test_a_token_refreshed_elsewhere_is_accepted_at_once(site, other, tokens):
    keys = site.client()
    mine = site.login(keys)
    site.http.get("/v1/reports/open", headers=bearer(mine["access_token"]), status=200)
    new = other.refresh(keys, mine["refresh_token"])
    site.http.get("/v1/reports/open", headers=bearer(new["access_token"]), status=200)


def test_what_another_process_has_changed_is_shown_at_once(site, other, tokens):
    headers = bearer(tokens["access_token"])
    site.http.get("/v1/guard/api", headers=headers, status=204)
    assert site.me(tokens["access_token"]).json["name"] is None
    other.http.patch_json("/v1/user", {"name": "Ann"}, headers=headers)
    assert site.me(tokens["access_token"]).json["name"] == "Ann"


def test_a_session_ended_elsewhere_ends_our_own_pages_at_once(site, other, tokens):
    sign_in(site)
    site.http.get("/account", status=200)
    with other.db() as db:
        user = users.find(db, "ann@example.com")
        users.end_sign_ins(acting(db), user.id)
    site.http.get("/account", status=302)


def test_forward_auth_accepts_from_memory_and_refuses_by_the_database(site, other, tokens):
    headers = bearer(tokens["access_token"])
    sign_in(site)
    for path in ("/v1/guard/api", "/v1/guard/web"):
        site.http.get(path, headers=headers, status=204)
        with counted(site.database) as statements:
            site.http.get(path, headers=headers, status=204)
        assert statements == []
        site.http.get(f"{path}?verified=1", headers=headers, status=403)
    with other.db() as db:
        users.confirm(acting(db), users.find(db, "ann@example.com"))
    for path in ("/v1/guard/api", "/v1/guard/web"):
        site.http.get(path, headers=headers, status=204)
        site.http.get(f"{path}?verified=1", headers=headers, status=204)


def test_a_page_of_the_host_is_shown_again_without_a_query(site, tokens):
    sign_in(site)
    site.http.get("/reports/open", status=200)
    with counted(site.database) as statements:
        site.http.get("/reports/open", status=200)
    assert statements == []


def test_one_token_never_answers_for_another(site, tokens):
    site.user("bob@example.com")
    keys = site.client()
    for email in ("ann@example.com", "bob@example.com") * 2:
        token = site.login(keys, email)["access_token"]
        for _ in range(2):
            answer = site.http.get("/v1/reports/open", headers=bearer(token), status=200)
            assert answer.text == f"hello {email}"
    site.http.get("/reports/open", headers=bearer(token), status=302)


def test_tokens_in_use_are_read_again_in_one_query(host_with):
    site = host_with(build, guard_cache="1s")
    site.user()
    keys = site.client()
    headers = [bearer(site.login(keys)["access_token"]) for _ in range(20)]

    def send():
        for each in headers:
            site.http.get("/v1/reports/open", headers=each, status=200)

    for _ in range(2):
        send()
    time.sleep(1)
    with counted(site.database) as statements:
        send()
    assert len(statements) < 20


def test_a_token_is_no_browser_session_however_recent(site, tokens):
    header = bearer(tokens["access_token"])["Authorization"]
    site.http.get("/v1/reports/open", headers={"Authorization": header}, status=200)
    site.http.get("/reports/open", headers={"Cookie": f'authsite="{header}"'}, status=302)
    site.http.get("/reports/open", headers={"Cookie": f"authsite={header}"}, status=302)


def test_a_token_ends_at_its_own_time(host_with):
    site = host_with(build, guard_cache="60s", expires_in="2s")
    site.user()
    headers = bearer(site.login(site.client())["access_token"])
    began = time.monotonic()
    while site.http.get("/v1/reports/open", headers=headers, status="*").status_int == 200:
        assert time.monotonic() < began + 30
        time.sleep(0.02)


def test_tokens_read_together_are_judged_as_each_by_itself(site, other, tokens):
    services, keys = site.app.registry["authsite"], site.client()
    pairs = [site.login(keys) for _ in range(6)]
    machine = site.token(site.client("personal"), grant_type="client_credentials").json
    old_and_new = [pairs[0], other.refresh(keys, pairs[0]["refresh_token"])]
    guard = site.app.registry["authsite.guards"].by_name["api"]
    sent = [machine, *old_and_new, pairs[1], *pairs[2:]]
    before = [read_caller(site, guard, each["access_token"]) for each in sent]
    newer = other.refresh(keys, pairs[1]["refresh_token"])
    other.refresh(keys, newer["refresh_token"])
    other.logout(pairs[2]["access_token"])
    other.logout(pairs[4]["access_token"])
    again = bearer_guard.read_together(services, before)
    singly = [site.me(each["access_token"], status="*").status_int for each in sent[1:]]
    assert singly == [200, 200, 401, 401, 200, 401, 200]
    assert [each is not None for each in again] == [True, *[each == 200 for each in singly]]
    assert [each for each in again if each] == [
        each for each, now in zip(before, again, strict=True) if now
    ]


def read_caller(site, guard, access_token):
    """The caller that the guard reads by a token."""
    request = Request.blank("/", environ={"HTTP_AUTHORIZATION": f"Bearer {access_token}"})
    request.registry = site.app.registry
    apply_request_extensions(request)
    return guard.authenticate(request)
