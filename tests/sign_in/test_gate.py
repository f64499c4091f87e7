"""Nothing begins a session, or issues tokens for a user, without a `Complete` of the gate."""

import ast
import json
import typing
from datetime import timedelta
from functools import cache
from inspect import signature
from pathlib import Path

import pytest

import authsite
from authsite.oauth.errors import InvalidGrant
from authsite.oauth.grants.table import GRANTS
from authsite.oauth.models import Family
from authsite.oauth.tokens import issue
from authsite.sign_in.credentials import amr_of, pack
from authsite.sign_in.gate import ACCOUNT_CONDITIONS, AccountCondition, Complete
from authsite.sign_in.sessions import service as sessions
from authsite.sign_in.sessions.models import BrowserSession
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, WEB

TOP = Path(authsite.__file__).parent
GATE = "sign_in/gate.py"


@cache
def trees():
    """The syntax tree of each module, by its path."""
    return {str(path.relative_to(TOP)): ast.parse(path.read_text()) for path in TOP.rglob("*.py")}


def modules_that(matches):
    return sorted(
        path for path, tree in trees().items() if any(matches(node) for node in ast.walk(tree))
    )


def calls(*names):
    """A test of a node: a call of one of the names, also as an attribute."""

    def matches(node):
        if not isinstance(node, ast.Call):
            return False
        called = node.func
        return getattr(called, "id", getattr(called, "attr", None)) in names

    return matches


def mentions(name):
    return lambda node: name in (getattr(node, "id", ""), getattr(node, "attr", ""))


def test_only_the_gate_makes_what_completes_a_sign_in():
    assert modules_that(calls("Complete", "Verified")) == [GATE]
    # Nor by a way around the constructor.
    around = calls("replace", "_replace", "_make", "__new__")
    mentioning = {*modules_that(mentions("Complete")), *modules_that(mentions("Verified"))}
    for path in mentioning - {GATE}:
        assert not [node for node in ast.walk(trees()[path]) if around(node)], path
    assert modules_that(mentions("without_proof")) == ["testing.py"]
    # A code, for which a browser session has asked, carries its sign-in to a client.
    assert modules_that(mentions("carried_over")) == ["oauth/codes/redeem.py"]


@pytest.mark.parametrize(
    "function", [sessions.begin, sessions.enter, issue.issue, issue.issue_for_code]
)
def test_what_begins_a_sign_in_takes_a_complete(function):
    assert typing.get_type_hints(function)["done"] is Complete
    assert signature(function).parameters["done"].default is signature(function).empty


def test_a_row_of_a_sign_in_is_inserted_in_one_place_each():
    """A new way that inserts a row itself is found here."""
    assert modules_that(calls(BrowserSession.__name__)) == ["sign_in/sessions/service.py"]
    inserted = {
        path
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if calls("insert", Family.__name__)(node)
        and {"Family", "FAMILIES", "BrowserSession", "SESSIONS"}
        & {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    }
    assert inserted == {"oauth/tokens/issue.py"}


def test_every_route_and_grant_that_signs_in_goes_through_the_gate(site_with):
    """With a condition that denies, no right password opens anything on any path."""
    denied = []
    site = site_with(**WEB)

    def deny(_ctx, account):
        denied.append(account.email)
        raise InvalidGrant

    ann = {"username": "ann@example.com", "password": PASSWORD}
    site.user()
    keys = site.first_party("web")
    tokens = site.login(keys)
    before = len(site.families())
    conditions = ACCOUNT_CONDITIONS.of(site.app.registry["authsite"])
    conditions["test"] = AccountCondition(deny)
    try:
        for grant in GRANTS:
            form = keys.form(grant_type=grant, refresh_token=tokens["refresh_token"], **ann)
            site.http.post("/v1/oauth/token", form, status=400)
        for path in ("/v1/clients/web/login", "/v1/clients/web/users/login"):
            site.http.post_json(path, ann, status=(400, 404))
        assert submit(site, "/login", **ann).status_int == 400
    finally:
        conditions.pop("test")
    assert len(denied) >= 3
    assert len(site.families()) == before
    with site.db() as db:
        assert db.query(BrowserSession).all() == []


def test_facts_are_null_for_a_password_and_json_for_the_rest(site):
    assert pack(("pwd",)) is None
    assert amr_of(None) == ("pwd",)
    assert json.loads(pack(("pwd", "otp"))) == {"amr": ["pwd", "otp"]}
    assert amr_of(pack(("email",))) == ("email",)
    site.user()
    site.login(site.client())
    sign_in(site)
    with site.db() as db:
        [session], [family] = db.query(BrowserSession).all(), db.query(Family).all()
    for row in (session, family):
        assert (row.facts, row.recognized) == (None, None)
        assert abs((row.auth_at - row.created_at).total_seconds()) < 5


def test_a_sign_in_of_a_recognized_browser_says_since_when(site_with, frozen):
    site = site_with(limits="on")
    site.user()
    found = []
    for _ in range(3):
        sign_in(site)
        with site.db() as db:
            found.append(db.query(BrowserSession).one().recognized)
        submit(site, "/logout")
        frozen.advance(3600)
    begun = frozen.at - timedelta(hours=3)
    assert found == [None, begun, begun]
