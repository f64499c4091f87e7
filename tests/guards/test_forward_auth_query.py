"""Forward auth: what its query requires, by the rules of guarded routes."""

import pytest
from sqlalchemy import select

from authsite.users.models import User
from tests.guards.test_forward_auth import API, NAMES, WEB, codes, confirm, token_of
from tests.support.pages import sign_in
from tests.support.site import bearer

VARIANT_B = {"variant": "B"}
CONFIRMED_ONLY = {"variant": "B", "require_email_confirmation": "true"}


def test_the_scope_of_the_query_is_required(site):
    site.user()
    headers = bearer(token_of(site))
    assert site.http.get(f"{API}?scope=reports:read", headers=headers).status_int == 204
    for query, needed in (
        ("scope=reports:write", "reports:write"),
        ("scope=reports:read%20reports:write", "reports:read reports:write"),
        ("scope=reports:read+reports:write", "reports:read reports:write"),
    ):
        answer = site.http.get(f"{API}?{query}", headers=headers, status=403)
        assert codes(answer) == ["insufficient_scope"]
        assert answer.headers["WWW-Authenticate"] == (
            f'Bearer error="insufficient_scope", scope="{needed}"'
        )
        assert not set(answer.headers) & set(NAMES)


@pytest.mark.parametrize(
    ("settings", "code"),
    [({}, "email_not_verified"), (VARIANT_B, "email_not_confirmed")],
    ids=["A", "B"],
)
@pytest.mark.parametrize("value", ["1", "true"])
def test_verified_lets_only_confirmed_users_pass(site_with, settings, code, value):
    site = site_with(**settings)
    site.user()
    headers = bearer(token_of(site))
    sign_in(site)
    for path in (API, WEB):
        assert site.http.get(path, headers=headers).status_int == 204
        answer = site.http.get(f"{path}?verified={value}", headers=headers, status=403)
        assert codes(answer) == [code]
    confirm(site)
    for path in (API, WEB):
        assert site.http.get(f"{path}?verified={value}", headers=headers).status_int == 204


def test_verified_needs_no_confirmation_where_the_setting_says_so(site_with):
    site = site_with(require_email_verification="false")
    site.user()
    assert site.http.get(f"{API}?verified=1", headers=bearer(token_of(site))).status_int == 204


def test_verified_requires_a_user(site):
    keys = site.client("personal")
    token = site.token(keys, grant_type="client_credentials").json["access_token"]
    answer = site.http.get(f"{API}?verified=1", headers=bearer(token), status=403)
    assert codes(answer) == ["user_required"]


def test_where_confirmation_is_required_it_is_so_without_a_parameter(site_with):
    site = site_with(**CONFIRMED_ONLY)
    site.user(confirmed=True)
    headers = bearer(token_of(site))
    sign_in(site)
    with site.db() as db:
        db.scalars(select(User)).one().email_verified_at = None
    for path in (API, WEB):
        answer = site.http.get(path, headers=headers, status=403)
        assert codes(answer) == ["email_not_confirmed"]


BAD = [
    "scope=",
    "scope=%20",
    "scope=a%20",
    'scope=a"b',
    "scope=%C3%A4",
    "scope=a%0D%0Ab",
    "scope=a&scope=b",
    "scope=a&scope=a",
    "scopes=a",
    "Scope=a",
    "group=",
    "group=Ops",
    "group=a,b",
    "group=a&group=b",
    "group=authsite:ops",
    "groups=ops",
    "verified=",
    "verified",
    "verified=0",
    "verified=false",
    "verified=yes",
    "verified=True",
    "verified=1&verified=1",
    "verify=1",
    "verified=1&a=b",
    "%FF=1",
    "verified=%FF",
    "=1",
    "a",
    "&".join(f"a{number}=1" for number in range(2000)),
]


@pytest.mark.parametrize("query", [*BAD, "redirect=1", "group=ops&caller=client"])
def test_a_bad_parameter_never_opens_the_api(site, query):
    site.user(confirmed=True)
    answer = site.http.get(f"{API}?{query}", headers=bearer(token_of(site)), status=400)
    assert codes(answer) == ["invalid_request"]


@pytest.mark.parametrize(
    "query", [*BAD, "scope=a", "redirect=0", "redirect=", "next=/a", "group=ops&anonymous=1"]
)
def test_a_bad_parameter_never_opens_the_pages_and_is_seen_without_a_session(site, query):
    site.user(confirmed=True)
    assert codes(site.http.get(f"{WEB}?{query}", status=400)) == ["invalid_request"]
    sign_in(site)
    assert codes(site.http.get(f"{WEB}?{query}", status=400)) == ["invalid_request"]


def test_a_scope_that_no_token_can_have_is_an_error_as_on_a_route(site_with):
    site = site_with(scopes="reports:read: Read reports")
    site.user()
    headers = bearer(token_of(site))
    assert site.http.get(f"{API}?scope=reports:read", headers=headers).status_int == 204
    answer = site.http.get(f"{API}?scope=report:read", headers=headers, status=400)
    assert "no token can have the scope report:read" in answer.json["message"]
