"""``verified=True`` on a route, and the setting that turns it off in Variant A."""

import pytest

from authsite.users import service as users
from tests.support.acting import acting
from tests.support.host import hello
from tests.support.pages import sign_in
from tests.support.site import bearer

PATHS = {"api": "/v1/reports", "web": "/reports"}


def build(config):
    for guard, path in PATHS.items():
        config.add_route(f"{guard}.reports", path, guard=guard, verified=True)
        config.add_view(hello, route_name=f"{guard}.reports")


@pytest.fixture
def site(host_with):
    return host_with(build)


@pytest.fixture
def token(site):
    site.user()
    return site.login(site.client())["access_token"]


def confirm(site):
    with site.db() as db:
        users.confirm(acting(db), users.find(db, "ann@example.com"))


@pytest.mark.control("F18")
def test_a_stranger_is_401_before_anything_is_said_about_verification(site, token):
    for headers in ({}, bearer("at_x"), bearer(f"{token}x")):
        answer = site.http.get(PATHS["api"], headers=headers, status=401)
        assert answer.json["errors"] == []


@pytest.mark.control("F18")
def test_an_unconfirmed_user_is_403_with_a_stable_code_until_confirmed(site, token):
    answer = site.http.get(PATHS["api"], headers=bearer(token), status=403)
    assert [(e["code"], e["field"]) for e in answer.json["errors"]] == [
        ("email_not_verified", None)
    ]
    assert "WWW-Authenticate" not in answer.headers
    confirm(site)
    assert site.http.get(PATHS["api"], headers=bearer(token), status=200)


@pytest.mark.control("F18")
def test_pages_are_kept_from_the_unconfirmed_too(site):
    site.user()
    site.http.get(PATHS["web"], status=302)
    sign_in(site)
    page = site.http.get(PATHS["web"], headers={"Accept": "text/html"}, status=403)
    assert page.content_type == "text/html"  # a person reads it
    script = site.http.get(PATHS["web"], headers={"Accept": "application/json"}, status=403)
    assert script.json["errors"][0]["code"] == "email_not_verified"
    confirm(site)
    site.http.get(PATHS["web"], status=200)


@pytest.mark.control("F18")
def test_with_the_key_off_the_option_is_ignored_and_the_guard_is_not(host_with):
    site = host_with(build, require_email_verification="false")
    site.user()
    token = site.login(site.client())["access_token"]
    site.http.get(PATHS["api"], headers=bearer(token), status=200)
    site.http.get(PATHS["api"], status=401)
    machine = site.token(site.client("personal"), grant_type="client_credentials").json
    site.http.get(PATHS["api"], headers=bearer(machine["access_token"]), status=200)


@pytest.mark.control("F18")
@pytest.mark.parametrize("required", ["true", "false"])
@pytest.mark.parametrize("verification", ["true", "false"])
def test_m6_the_option_holds_in_variant_b_whatever_the_keys_say(host_with, required, verification):
    site = host_with(
        build,
        variant="B",
        require_email_verification=verification,
        require_email_confirmation=required,
    )
    site.user(confirmed=True)
    token = site.login(site.client())["access_token"]
    site.http.get(PATHS["api"], headers=bearer(token), status=200)
    with site.db() as db:
        users.find(db, "ann@example.com").email_verified_at = None
    answer = site.http.get(PATHS["api"], headers=bearer(token), status=403)
    assert answer.json["errors"][0]["code"] == "email_not_confirmed"
    site.http.get(PATHS["api"], status=401)
    machine = site.token(site.client("personal"), grant_type="client_credentials").json
    answer = site.http.get(PATHS["api"], headers=bearer(machine["access_token"]), status=403)
    assert answer.json["errors"][0]["code"] == "user_required"
