"""Scopes: what a login is granted, and what a refresh may make of it (RFC 6749, 3.3 and 6)."""

from uuid import UUID

import pytest

from authsite.oauth.clients import service
from authsite.oauth.models import Client
from tests.support.acting import acting

PERSONAL = {"grant_type": "client_credentials"}


@pytest.fixture
def keys(site):
    return site.client("personal", scope="a b c", default_scope="a")


@pytest.mark.parametrize("scope", ['a"b', "a\\b", "ä", "a\x00", "a\x7f", "x" * 1025])
def test_what_is_no_scope_is_not_allowed_to_a_client(site, scope):
    with pytest.raises(ValueError, match="scopes"):
        site.client(scope=scope)
    keys = site.client(scope="a")
    with site.db() as db, pytest.raises(ValueError, match="scopes"):
        service.change(acting(db), db.get(Client, UUID(keys.client_id)), scope=f"a {scope}")


def issue(site, keys, **form):
    return site.token(keys, **PERSONAL, **form).json


def scope_of(site):
    [family] = site.families()
    return family.scope


@pytest.mark.control("T15")
def test_a_client_gets_the_scope_it_requested_and_the_response_omits_it(site, keys):
    assert "scope" not in issue(site, keys, scope="b c")
    assert scope_of(site) == "b c"


@pytest.mark.control("T15")
@pytest.mark.parametrize("form", [{}, {"scope": ""}, {"scope": " "}])
def test_an_empty_or_absent_scope_means_the_default_which_the_response_contains(site, keys, form):
    assert issue(site, keys, **form)["scope"] == "a"
    assert scope_of(site) == "a"


@pytest.mark.control("T15")
def test_a_client_without_default_scope_gets_the_empty_scope(site):
    assert "scope" not in issue(site, site.client("personal", scope="a b"))
    assert scope_of(site) == ""


@pytest.mark.control("T15")
@pytest.mark.parametrize("scope", ["d", "a d", "A", "a,b", "*", "a\tb", 'a"', "a\u00a0b", "ä"])
def test_a_scope_that_the_client_may_not_have_is_refused(site, keys, scope):
    answer = site.token(keys, 400, **PERSONAL, scope=scope)
    assert answer.json["error"] == "invalid_scope"
    assert site.families() == []


def test_a_client_without_scopes_can_request_none(site):
    assert site.token(site.client("personal"), 400, **PERSONAL, scope="a").json["error"] == (
        "invalid_scope"
    )


def test_a_scope_that_is_requested_twice_is_granted_once(site, keys):
    assert "scope" not in issue(site, keys, scope="a  a b")
    assert scope_of(site) == "a b"


def test_the_password_grant_has_scopes_too(site):
    site.user()
    keys = site.client(scope="a b", default_scope="b")
    assert site.login(keys)["scope"] == "b"
    assert "scope" not in site.login(keys, scope="a")
    assert site.login(keys, scope="c", status=400)["error"] == "invalid_scope"


@pytest.mark.control("T15")
def test_a_refresh_may_narrow_the_scope_and_keeps_it_without_asking(site, keys):
    first = issue(site, keys, scope="a b")
    second = site.refresh(keys, first["refresh_token"], scope="a")
    assert "scope" not in second
    assert scope_of(site) == "a"


@pytest.mark.control("T15")
def test_a_narrowed_token_can_be_refreshed_back_to_what_the_login_was_granted(site, keys):
    first = issue(site, keys, scope="a b")
    narrow = site.refresh(keys, first["refresh_token"], scope="a")
    whole = site.refresh(keys, narrow["refresh_token"])
    assert whole["scope"] == "a b"
    assert scope_of(site) == "a b"


@pytest.mark.control("T15")
@pytest.mark.parametrize("scope", ["c", "a c", "a b c", "d"])
def test_a_refresh_never_goes_beyond_what_the_login_was_granted(site, keys, scope):
    first = issue(site, keys, scope="a b")
    answer = site.refresh(keys, first["refresh_token"], status=400, scope=scope)
    assert answer["error"] == "invalid_scope"


@pytest.mark.control("T15")
def test_an_invalid_scope_does_not_use_the_refresh_token(site, keys):
    first = issue(site, keys, scope="a b")
    site.refresh(keys, first["refresh_token"], status=400, scope="c")
    [family] = site.families()
    assert (family.generation, family.scope, family.revoked_at) == (0, "a b", None)
    site.refresh(keys, first["refresh_token"])


def test_narrowing_ends_the_previous_access_token_also_in_the_grace(site, frozen):
    site.user()
    keys = site.client(scope="a b")
    first = site.login(keys, scope="a b")
    second = site.refresh(keys, first["refresh_token"], scope="a")
    site.me(first["access_token"], status=401)
    site.me(second["access_token"])


def test_widening_back_ends_the_previous_access_token_at_once_too(site, frozen):
    site.user()
    keys = site.client(scope="a b")
    first = site.login(keys, scope="a b")
    narrow = site.refresh(keys, first["refresh_token"], scope="a")
    site.refresh(keys, narrow["refresh_token"])
    site.me(narrow["access_token"], status=401)


def test_after_a_refresh_with_the_same_scope_the_grace_is_back(site, frozen):
    site.user()
    keys = site.client(scope="a b")
    tokens = site.login(keys, scope="a b")
    narrow = site.refresh(keys, tokens["refresh_token"], scope="a")
    site.refresh(keys, narrow["refresh_token"], scope="a")
    site.me(narrow["access_token"])


def test_the_same_scopes_in_another_order_are_no_change(site, frozen):
    site.user()
    keys = site.client(scope="a b")
    first = site.login(keys, scope="a b")
    assert "scope" not in site.refresh(keys, first["refresh_token"], scope="b a")
    site.me(first["access_token"])


def test_in_the_grace_the_requested_scope_is_ignored(site, keys, frozen):
    first = issue(site, keys, scope="a b")
    second = site.refresh(keys, first["refresh_token"], scope="a")
    for scope in ("b", "a b", "c"):
        again = site.refresh(keys, first["refresh_token"], scope=scope)
        assert again["access_token"] == second["access_token"]
        assert again["scope"] == "a"
    assert scope_of(site) == "a"
