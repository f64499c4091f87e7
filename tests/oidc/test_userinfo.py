"""The userinfo endpoint, and the claims that each scope gives."""

import pytest

from authsite.groups import members
from authsite.groups import service as groups
from authsite.oauth.oidc.id_tokens import ADDED_CLAIMS
from authsite.platform.audit.service import Cause
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.codes import (
    ISSUER,
    application,
    claims_of,
    code_of,
    openid_provider,
    redeem,
    session_of,
)
from tests.support.site import bearer

PATH = f"{ISSUER}/v1/oauth/userinfo"
ALL = "openid profile email phone groups"


@pytest.fixture
def provider(site_with):
    """An OpenID Provider where Ann Lee has signed in with a browser."""
    return openid_provider(site_with)


def token_of(site, scope=ALL, **more):
    app = application(site)
    return redeem(site, app, code_of(site, app, scope, **more))["access_token"]


def ask(site, token, status=200, **more):
    return site.http.get(PATH, headers=bearer(token), status=status, **more)


def change_user(site, **columns):
    with site.db() as db:
        user = db.get(User, session_of(site).user_id)
        for name, value in columns.items():
            setattr(user, name, value)
        return user


def test_the_answer_has_the_claims_of_the_scopes(provider):
    user = change_user(provider)
    answer = ask(provider, token_of(provider))
    assert answer.content_type == "application/json"
    assert answer.json == {
        "sub": str(user.id),
        "name": "Ann Lee",
        "preferred_username": "annlee",
        "nickname": "annlee",
        "locale": "en",
        "updated_at": int(user.updated_at.timestamp()),
        "email": "ann@example.com",
        "email_verified": True,
        "phone_number": "+49302345678",
        "phone_number_verified": False,
        "groups": [],
    }


@pytest.mark.parametrize(
    ("scope", "claims"),
    [
        ("openid", set()),
        ("openid email", {"email", "email_verified"}),
        ("openid phone", {"phone_number", "phone_number_verified"}),
        ("openid groups", {"groups"}),
        ("openid profile", {"name", "preferred_username", "nickname", "locale", "updated_at"}),
    ],
)
def test_each_scope_gives_its_claims(provider, scope, claims):
    assert set(ask(provider, token_of(provider, scope)).json) == {"sub", *claims}


def test_an_address_that_is_not_confirmed_is_not_shown(provider):
    """An application takes the address for the person."""
    token = token_of(provider)
    change_user(provider, email_verified_at=None, username=None)
    answer = ask(provider, token).json
    assert {"email", "email_verified", "preferred_username", "nickname"}.isdisjoint(answer)


def test_without_a_username_the_confirmed_address_is_preferred(provider):
    token = token_of(provider)
    change_user(provider, username=None, name=None, phone=None)
    answer = ask(provider, token).json
    assert answer["preferred_username"] == "ann@example.com"
    assert {"nickname", "name", "phone_number"}.isdisjoint(answer)


def test_groups_are_always_a_list(provider):
    """Also of one group, and of none."""
    token, services = token_of(provider, "openid groups"), provider.app.registry["authsite"]
    assert ask(provider, token).json["groups"] == []
    user_id = session_of(provider).user_id
    with provider.db() as db:
        ctx, cause = acting(db, services), Cause("command")
        groups.create(ctx, "ops", groups.GroupValues("Operations"), cause)
        members.add(ctx, "ops", user_id, cause)
    assert ask(provider, token).json["groups"] == ["ops"]


def test_without_openid_it_is_refused(provider):
    answer = ask(provider, token_of(provider, "profile"), 403)
    assert answer.json["errors"][0]["code"] == "insufficient_scope"
    assert 'error="insufficient_scope"' in answer.headers["WWW-Authenticate"]
    keys = provider.client()
    ask(provider, provider.login(keys)["access_token"], 403)


def test_a_token_for_a_resource_is_refused(provider):
    token = token_of(provider, audience="https://api.example.com/")
    answer = ask(provider, token, 401)
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]


def test_post_works_and_the_token_belongs_in_the_header(provider):
    token = token_of(provider)
    answer = provider.http.post(PATH, headers=bearer(token), status=200)
    assert answer.json == ask(provider, token).json
    provider.http.post(PATH, {"access_token": token}, status=401)
    provider.http.get(PATH, {"access_token": token}, status=(400, 401))


def test_an_ended_token_is_refused(provider):
    app = application(provider)
    token = redeem(provider, app, code_of(provider, app))["access_token"]
    provider.revoke(app, token)
    ask(provider, token, 401)


def test_an_application_adds_claims_but_replaces_none(provider):
    def add(_ctx, account, scopes):
        assert "openid" in scopes
        return {"department": "R&D", "email": "other@example.com", "sub": "x", "unit": None}

    added = ADDED_CLAIMS.of(provider.app.registry["authsite"])
    added["test"] = add
    answer = ask(provider, token_of(provider, "openid")).json
    assert answer == {"sub": str(session_of(provider).user_id), "department": "R&D"}
    app = application(provider, claims_in_id_token=True)
    claims = claims_of(redeem(provider, app, code_of(provider, app))["id_token"])
    assert claims["department"] == "R&D"
    assert "email" not in claims


def test_without_openid_connect_there_is_no_userinfo(site_with):
    site = site_with(base_url=ISSUER, openid="off")
    site.http.get(PATH, status=404)


def test_what_is_below_it_is_not_found_as_json(provider):
    """Grafana asks for ``{userinfo}/emails``, and cannot read a page."""
    told = provider.http.get(f"{PATH}/emails", headers=bearer(token_of(provider)), status=404)
    assert told.content_type == "application/json"
    assert told.json["message"]
