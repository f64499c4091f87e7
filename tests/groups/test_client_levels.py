"""A client that is for a group with a level: at every grant, and at the authorization endpoint."""

import json
from uuid import UUID

import pytest
from sqlalchemy import update

from authsite.groups import applying, members, service
from authsite.groups.service import GroupValues
from authsite.oauth.models import MFA_GRANT, PASSKEY_GRANT, Client, Family
from authsite.platform.audit.service import Cause
from authsite.sign_in.credentials import pack
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.passkeys.passkey_users import register
from tests.support import factors
from tests.support.authorizing import (
    OPENID,
    answer_of,
    application,
    authorize,
    leads_to,
    sign_in,
    target_of,
)
from tests.support.codes import code_of, redeem
from tests.support.site import PASSWORD, WEB

CAUSE = Cause("command")
WEAK, STRONG = ("pwd",), ("pwd", "otp")
REFUSED = ("invalid_grant", ["group_required"])
ANN, BO = "ann@example.com", "bo@example.com"


def people(site, level, *clients):
    """Ann is in the group of this level, Bo in none; ``clients`` are for the group alone."""
    ann, bo = site.user(confirmed=True), site.user(BO, confirmed=True)
    with site.db() as db:
        ctx = factors.context(site, db)
        service.create(ctx, "ops", GroupValues("Operations", "", level), CAUSE)
        members.add(ctx, "ops", ann.id, CAUSE)
        ids = [UUID(keys.client_id) for keys in clients]
        db.execute(update(Client).where(Client.id.in_(ids)).values(require_group="ops"))
    return ann, bo


def raise_level(site, level):
    """Give the group this level."""
    with site.db() as db:
        begun = service.change(
            factors.context(site, db), "ops", GroupValues(require_acr=level), CAUSE
        )
    with site.db() as db:
        applying.step(factors.context(site, db), begun)


def result(answer):
    """None for tokens, else the error with its codes."""
    if "access_token" in answer:
        return None
    return answer["error"], [each["code"] for each in answer.get("errors", [])]


@pytest.fixture
def site(site_with):
    return site_with(**WEB)


def test_a_password_alone_is_not_enough_and_with_a_code_it_is(site):
    keys = site.client()
    ann, bo = people(site, "aal2", keys)
    assert result(site.login(keys, status=400)) == REFUSED
    for user in (ann, bo):
        factors.add_totp(site, user)
    assert result(site.login(keys, otp=factors.code_now())) is None
    assert result(site.login(keys, BO, otp=factors.code_now(), status=400)) == REFUSED
    raise_level(site, "phr")
    assert result(site.login(keys, otp=factors.code_now(steps=1), status=400)) == REFUSED
    wrong = site.login(keys, password="not this one", status=400)
    assert result(wrong) == ("invalid_grant", [])


def test_the_second_step_of_a_login(site):
    keys = site.client()
    for user in people(site, "aal2", keys):
        factors.add_totp(site, user)

    def step(email, steps=0):
        token = site.login(keys, email, status=400)["mfa_token"]
        form = {"mfa_token": token, "mfa_method": "totp", "code": factors.code_now(steps=steps)}
        return result(site.token(keys, "*", grant_type=MFA_GRANT, **form).json)

    assert (step(ANN), step(BO)) == (None, REFUSED)
    raise_level(site, "phr")
    assert step(ANN, 1) == REFUSED


def test_a_passkey_has_the_highest_level(site):
    keys = site.client()
    owners = people(site, "phr", keys)
    results = []
    for each in [register(site, user) for user in owners]:
        asked = site.http.post("/v1/passkeys/options", keys.form()).json
        form = {"grant_type": PASSKEY_GRANT, "credential": json.dumps(each.get(asked))}
        results.append(result(site.token(keys, "*", **form).json))
    assert results == [None, REFUSED]


def test_the_server_of_a_first_party_client(site):
    web = site.first_party("web")
    ann, _bo = people(site, "aal2", web)
    body = {"username": ANN, "password": PASSWORD}
    answer = site.http.post_json("/v1/clients/web/login", body, status=400).json
    assert [each["code"] for each in answer["errors"]] == ["group_required"]
    factors.add_totp(site, ann)
    body["otp"] = factors.code_now()
    site.http.post_json("/v1/clients/web/login", body, status=200)
    site.http.post_json("/v1/clients/web/refresh", {}, status=200)
    raise_level(site, "phr")
    answer = site.http.post_json("/v1/clients/web/refresh", {}, status="4*").json
    assert "group_required" in json.dumps(answer)


def test_a_refresh_is_at_the_level_of_the_sign_in(site):
    keys = site.client()
    people(site, None, keys)
    tokens = site.login(keys)
    raise_level(site, "aal2")
    assert result(site.refresh(keys, tokens["refresh_token"], 400)) == REFUSED
    assert site.introspect(keys, tokens["refresh_token"]) == {"active": False}
    with site.db() as db:
        db.execute(update(Family).values(facts=pack(STRONG)))
    assert site.introspect(keys, tokens["refresh_token"])["active"]
    assert result(site.refresh(keys, tokens["refresh_token"])) is None


@pytest.fixture
def provider(site_with):
    """An OpenID Provider where Ann has signed in with the password, and two applications."""
    site = site_with(**OPENID, openid="on")
    site.ours = application(site, first_party=True)
    people(site, "aal2", site.ours)
    sign_in(site)
    return site


def prove(site, amr):
    with site.db() as db:
        db.execute(update(BrowserSession).values(facts=pack(amr)))


def test_a_code_and_its_refresh_are_at_the_level_of_the_session(provider):
    site, keys = provider, provider.client("server")
    with site.db() as db:
        query = update(Client).where(Client.id == UUID(keys.client_id))
        db.execute(query.values(require_group="ops"))
    assert result(redeem(site, keys, code_of(site, keys), 400)) == REFUSED
    prove(site, STRONG)
    tokens = redeem(site, keys, code_of(site, keys, "openid offline_access"))
    assert result(site.refresh(keys, tokens["refresh_token"])) is None
    tokens = redeem(site, keys, code_of(site, keys, "openid offline_access"))
    raise_level(site, "phr")
    assert result(site.refresh(keys, tokens["refresh_token"], 400)) == REFUSED
    assert site.introspect(keys, tokens["refresh_token"]) == {"active": False}


def test_a_member_below_the_level_is_asked_for_more_and_others_are_refused(provider):
    site, app = provider, provider.ours
    assert answer_of(authorize(site, app, prompt="none"))["error"] == "interaction_required"
    answer = authorize(site, app)
    assert leads_to(answer) == "/login/verify"
    assert "acr_values=aal2" in target_of(answer)
    prove(site, STRONG)
    assert answer_of(authorize(site, app))["code"]
    site.http.reset()
    sign_in(site, BO)
    page = authorize(site, app)
    assert (page.status_int, "Only the members of a group" in page.text) == (403, True)
    assert answer_of(authorize(site, app, prompt="none"))["error"] == "access_denied"


def test_a_level_that_is_not_known_is_nobodys(provider):
    """As an earlier import may have left it: no step-up would help."""
    site, app = provider, provider.ours
    with site.db() as db:
        db.execute(update(User).where(User.email == ANN).values(labels="ops=other"))
    prove(site, ("pop", "user"))
    assert authorize(site, app).status_int == 403


def test_a_reserved_group_requires_the_level_of_administrators(site):
    keys = site.client()
    ann, _bo = people(site, None, keys)
    with site.db() as db:
        db.execute(update(Client).values(require_group="authsite:owner"))
        db.execute(update(User).where(User.email == ANN).values(labels="authsite:owner"))
    assert result(site.login(keys, status=400)) == REFUSED
    factors.add_totp(site, ann)
    assert result(site.login(keys, otp=factors.code_now())) is None


def test_the_consent_page_shows_the_groups_that_the_application_learns_at_this_level(provider):
    site, app = provider, application(provider)
    asked = {"scope": "openid groups"}
    assert "<dd>ops</dd>" not in authorize(site, app, **asked).text
    prove(site, STRONG)
    assert "<dd>ops</dd>" in authorize(site, app, **asked).text
