"""A scope that a sign-in is too weak for: guards ask for the level, and not to ask for it again.

RFC 9470, section 3: the challenge has the level, and the scope.
"""

import pytest
from sqlalchemy import update

from authsite.oauth.models import Family
from authsite.sign_in.credentials import pack
from tests.support import personal
from tests.support.authorizing import (
    BASE,
    OPENID,
    answer_of,
    application,
    authorize,
    code_for,
    log_in,
    redeemed,
)
from tests.support.members import in_group
from tests.support.site import bearer
from tests.support.statements import counted

from .conftest import SETTINGS

ALL = "notes:read payments:write"
PAY = "/v1/guard/api?scope=payments:write"
STEP_UP = 'Bearer error="insufficient_user_authentication", acr_values="aal2"'


@pytest.fixture
def finance(payers):
    """The group that gives payments:write counts from aal2 on."""
    payers.run("group", "update", "payers", "--require-acr", "aal2")
    return payers


def token(site, email="ann@example.com", scope=ALL, **client):
    return site.login(site.client(**{"scope": scope, **client}), email, scope=scope)["access_token"]


def refused(site, token, path=PAY, **options):
    """The status, and the challenge."""
    answer = site.http.get(path, headers=bearer(token), status=(401, 403), **options)
    return answer.status_int, answer.headers["WWW-Authenticate"]


def asks_for_scope(answer, scope="payments:write"):
    return answer == (403, f'Bearer error="insufficient_scope", scope="{scope}"')


@pytest.mark.parametrize("guard", ["api", "any"])
def test_a_member_below_the_level_is_asked_for_it(site, finance, guard):
    path = f"/v1/guard/{guard}?scope=payments:write"
    weak = token(site)
    assert refused(site, weak, path) == (401, f'{STEP_UP}, scope="payments:write"')
    answer = site.http.get(path, headers=bearer(weak), status=401)
    assert answer.json["errors"][0]["code"] == "insufficient_user_authentication"


def test_all_scopes_of_the_route_are_named(site, finance):
    """One that the client has not asked for as well: it may have it."""
    weak = site.login(site.client(scope=ALL), scope="payments:write notes:read")["access_token"]
    path = f"{PAY}%20notes:read"
    assert refused(site, weak, path) == (401, f'{STEP_UP}, scope="payments:write notes:read"')


def test_the_lowest_level_that_gives_it_is_named_and_what_the_route_asks_besides(site, finance):
    for name, level in (("treasury", "phr"), ("clerks", "aal2")):
        finance.run("group", "create", name, "--title", name, "--scope", "payments:read")
        finance.run("group", "update", name, "--require-acr", level)
        finance.run("group", "add", name, "ann@example.com")
    weak = token(site, scope=f"{ALL} payments:read")
    assert 'acr_values="aal2"' in refused(site, weak, "/v1/guard/api?scope=payments:read")[1]
    assert 'acr_values="phr"' in refused(site, weak, f"{PAY}&acr=phr")[1]


def test_after_the_stronger_sign_in_the_next_token_has_it(site, finance):
    keys = site.client(scope=ALL)
    tokens = site.login(keys, scope=ALL)
    assert refused(site, tokens["access_token"])[0] == 401
    with site.db() as db:
        db.execute(update(Family).values(facts=pack(("pwd", "otp"))))
    # The sign-in is strong enough, and the token is from before.
    assert asks_for_scope(refused(site, tokens["access_token"]))
    renewed = site.refresh(keys, tokens["refresh_token"])["access_token"]
    site.http.get(PAY, headers=bearer(renewed), status=204)


def test_where_a_stronger_sign_in_would_not_help_the_scope_is_named(site, finance):
    """In no group; a client that may not have it; one that gave it up; a scope of no group."""
    assert asks_for_scope(refused(site, token(site, "bo@example.com")))
    assert asks_for_scope(refused(site, token(site, scope="notes:read")))
    path = "/v1/guard/api?scope=payments:read"
    weak = token(site, scope=f"{ALL} payments:read")
    assert asks_for_scope(refused(site, weak, path), "payments:read")
    finance.run("group", "update", "payers", "--require-acr", "")
    assert asks_for_scope(refused(site, token(site, scope="notes:read")))


def test_nor_where_something_else_would_refuse_the_stronger_sign_in(site, finance):
    assert asks_for_scope(refused(site, token(site), f"{PAY}&group=ops"))


def test_a_personal_token_and_a_client_have_no_sign_in_that_could_be_stronger(site, finance):
    made = personal.created(site, token(site), scope="notes:read")
    assert asks_for_scope(refused(site, made))
    keys = site.client("personal", scope="notes:read", default_scope="notes:read")
    machine = site.token(keys, grant_type="client_credentials").json["access_token"]
    assert asks_for_scope(refused(site, machine))


@pytest.mark.parametrize("first_party", [True, False])
def test_of_an_application_that_uses_codes(site_with, first_party):
    site = site_with(**OPENID, **SETTINGS)
    ann = site.user(confirmed=True)
    in_group(site, ann.id, scopes="payments:write", level="aal2")
    for scope, status in ((ALL, 401), ("notes:read", 403)):
        site.new_browser()
        app = application(site, scope=scope, first_party=first_party)
        made = redeemed(site, app, code_for(site, app, scope=f"openid {scope}"))["access_token"]
        assert refused(site, made, f"{BASE}{PAY}")[0] == status


def test_who_is_refused_for_the_scope_alone_costs_no_query_more(site, finance):
    weak, other = token(site), token(site, "bo@example.com")
    for each, queries in ((other, 1), (weak, 3)):
        with counted(site.database) as seen:
            refused(site, each)
        assert len([sql for sql in seen if sql.startswith("SELECT")]) == queries, seen


@pytest.mark.parametrize(("group", "level"), [("payers", "aal2"), (None, None)])
def test_a_sign_in_for_which_no_scope_is_left_says_whether_a_stronger_one_would_help(
    site_with, group, level
):
    """The people who run the site cannot give what a second factor gives."""
    site = site_with(**OPENID, **SETTINGS)
    ann = site.user(confirmed=True)
    if group:
        in_group(site, ann.id, scopes="payments:write", level=level)
    scope = "payments:write"
    said = site.login(site.client(scope=scope), scope=scope, status=400)
    app = application(site, scope=scope)
    redirected = answer_of(log_in(site, authorize(site, app, scope=scope)))
    for answer in (said, redirected):
        assert answer["error"] == "invalid_scope"
        assert ("aal2" in answer["error_description"]) is bool(group)
