"""A provider bounds how long a sign-in lasts (`session-expires-in`), and all that comes from it."""

import time
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import delete, select

from authsite.oauth.codes.models import AuthorizationCode
from authsite.oauth.models import Family
from authsite.platform.runtime.clock import rfc3339
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.authorization.test_provider import ADDRESS, back, create_account, to_provider
from tests.providers.people import confirmed, identities, users
from tests.support import devices
from tests.support.authorizing import (
    BASE,
    OPENID,
    answer_of,
    application,
    authorize,
    leads_to,
    redeemed,
)
from tests.support.codes import claims_of
from tests.support.pages import submit
from tests.support.site import PASSWORD, SECRET, HashedOnce, Site, bearer

HOUR = timedelta(hours=1)
OFFLINE = "openid offline_access"
# What each column of a browser session is for what comes from it. A new one needs a place here.
CARRIED = {"facts", "auth_at", "recognized", "identity_id", "ends_at"}
ITS_OWN = {
    "id": "carried as session_id",
    "key_hash": "opens the session alone",
    "user_id": "carried, with the epoch",
    "user_epoch": "carried, with the user",
    "remember": "decides about the cookie and the idle time of the browser",
    "created_at": "when the session began",
    "used_at": "the idle time of the browser",
    "expires_at": "read with the session, unless the scope has offline_access",
    "address": "of the browser",
    "agent": "of the browser",
    "confirmed_at": "counts for sensitive changes in this session",
}


@pytest.fixture
def corp(providers, site_of):
    """The provider ``corp``, whose sign-ins last an hour, a site with it, and an application."""
    fake = providers("oidc", "corp")
    bounded = {"trust-email": "on", "session-expires-in": "1h"}
    scopes = {"personal_token_scopes": "notes:read", "scopes": "notes:read"}
    site = site_of((fake, bounded), **OPENID, **scopes)
    app = application(site, first_party=True)
    create_account(site, fake, app)
    site.http.reset()
    return fake, site, app


def code_with(site, fake, app, **asked):
    """A code of the application, for a person who signs in with the provider."""
    answer = authorize(site, app, provider="corp", **asked)
    if leads_to(answer) == "/login/with/corp":
        answer = back(site, fake, to_provider(site, answer))
    return answer_of(answer)["code"]


def tokens_of(site, fake, app, **asked):
    return redeemed(site, app, code_with(site, fake, app, **asked))


def rows(site, model):
    with site.db() as db:
        return db.scalars(select(model).order_by(model.created_at)).all()


def userinfo(site, tokens, status=200):
    site.http.get(
        f"{BASE}/v1/oauth/userinfo", headers=bearer(tokens["access_token"]), status=status
    )


def personal_token(site):
    """One that the person creates on the account page, who has just confirmed at the provider."""
    [user] = users(site)
    confirmed(site, user)
    form = {"name": "backup", "expires_in": "90d"}
    return submit(site, "/account/tokens", page="/account/access", **form).html.find("code").text


def refresh(site, app, tokens, status=200):
    sent = {
        "grant_type": "refresh_token",
        "refresh_token": tokens["refresh_token"],
        "client_id": app.client_id,
        "client_secret": app.client_secret,
    }
    return site.http.post(f"{BASE}/v1/oauth/token", sent, status=status).json


def test_each_column_of_a_session_is_carried_or_is_its_own():
    assert {each.name for each in BrowserSession.__table__.columns} == CARRIED | ITS_OWN.keys()
    for model in (AuthorizationCode, Family):
        assert {each.name for each in model.__table__.columns} >= CARRIED


@pytest.mark.both_databases
@pytest.mark.parametrize("scope", ["openid", OFFLINE])
def test_no_token_of_an_application_outlives_it_whatever_the_scope(corp, frozen, scope):
    fake, site, app = corp
    tokens = tokens_of(site, fake, app, scope=scope)
    ends_at = frozen.at + HOUR
    assert tokens["expires_in"] <= HOUR.total_seconds()
    assert claims_of(tokens["id_token"])["exp"] <= ends_at.timestamp()
    frozen.advance(3000)
    tokens = refresh(site, app, tokens)
    assert tokens["expires_in"] <= 600
    assert claims_of(tokens["id_token"])["exp"] <= ends_at.timestamp()
    userinfo(site, tokens)
    frozen.advance(601)
    userinfo(site, tokens, 401)
    assert refresh(site, app, tokens, 400)["error"] == "invalid_grant"


def test_an_id_token_does_not_either(corp, frozen):
    fake, site, _app = corp
    app = application(site, name="Kubernetes", first_party=True, id_token_lifetime=86400)
    tokens = tokens_of(site, fake, app, scope=OFFLINE)
    assert claims_of(tokens["id_token"])["exp"] == int((frozen.at + HOUR).timestamp())


def test_a_code_of_before_the_end_is_worth_nothing_afterwards(corp, frozen):
    fake, site, app = corp
    code_with(site, fake, app)
    frozen.advance(HOUR.total_seconds() - 30)
    code = answer_of(authorize(site, app, scope=OFFLINE))["code"]
    frozen.advance(31)
    assert redeemed(site, app, code, status=400)["error"] == "invalid_grant"


def test_a_device_is_signed_out_with_it(corp, frozen):
    fake, site, app = corp
    code_with(site, fake, app)
    tool = devices.tool(site, first_party=True)
    started = devices.start(site, tool, scope=OFFLINE)
    devices.allow(site, started)
    tokens = devices.poll(site, tool, started)
    frozen.advance(HOUR.total_seconds() + 1)
    userinfo(site, tokens, 401)
    assert refresh(site, replace(tool, client_secret=""), tokens, 400)["error"] == "invalid_grant"


def test_an_approved_device_that_comes_too_late_gets_nothing(corp, frozen):
    fake, site, app = corp
    code_with(site, fake, app)
    frozen.advance(HOUR.total_seconds() - 60)
    tool = devices.tool(site, first_party=True)
    started = devices.start(site, tool, scope=OFFLINE)
    devices.allow(site, started)
    frozen.advance(61)
    assert devices.refused(site, tool, started) == "invalid_grant"


def test_a_personal_token_of_such_a_session_ends_with_it(corp, frozen):
    fake, site, app = corp
    code_with(site, fake, app)
    token = personal_token(site)
    headers = bearer(token)
    frozen.advance(HOUR.total_seconds() - 1)
    site.http.get(f"{BASE}/v1/user", headers=headers)
    frozen.advance(1)
    site.http.get(f"{BASE}/v1/user", headers=headers, status=401)


def test_a_personal_token_that_an_application_has_created_ends_with_it(corp, frozen):
    fake, site, _app = corp
    app = application(site, name="Own", first_party=True, scope="account")
    tokens = tokens_of(site, fake, app, scope=f"{OFFLINE} account")
    [user] = users(site)
    with site.db() as db:
        db.get_one(User, user.id).password_hash = HashedOnce(site.cfg).hash(PASSWORD)
    form = {"name": "x", "current_password": PASSWORD}
    made = site.http.post_json(
        f"{BASE}/v1/user/tokens", form, headers=bearer(tokens["access_token"]), status=201
    )
    assert made.json["expires"] == rfc3339(frozen.at + HOUR)


def test_a_sign_in_with_the_password_has_no_bound_of_a_provider(corp, frozen):
    _fake, site, app = corp
    site.user("bob@example.com", confirmed=True)
    submit(site, "/login", username="bob@example.com", password=PASSWORD)
    code = answer_of(authorize(site, app, scope=OFFLINE))["code"]
    tokens = redeemed(site, app, code)
    frozen.advance(2 * HOUR.total_seconds())
    refresh(site, app, tokens)


def test_it_counts_from_the_proof_that_the_provider_tells(corp, frozen):
    fake, site, app = corp
    fake.claims["auth_time"] = int(frozen.at.timestamp()) - 3000
    tokens = tokens_of(site, fake, app, scope=OFFLINE)
    assert 590 <= tokens["expires_in"] <= 600
    frozen.advance(601)
    userinfo(site, tokens, 401)
    assert site.http.get(f"{BASE}/account", status="*").status_int != 200


def test_a_provider_whose_own_session_is_older_begins_it_now(corp, frozen):
    fake, site, app = corp
    fake.claims["auth_time"] = int(frozen.at.timestamp()) - 7200
    tokens = tokens_of(site, fake, app, scope=OFFLINE)
    userinfo(site, tokens)
    frozen.advance(HOUR.total_seconds() + 1)
    userinfo(site, tokens, 401)


@pytest.mark.both_databases
def test_an_identity_that_is_disconnected_takes_all_that_began_with_it_along(corp, frozen):
    """Also what came from a session that is over: a thief may have left it long ago."""
    fake, site, app = corp
    offline = tokens_of(site, fake, app, scope=OFFLINE)
    personal = personal_token(site)
    [user] = users(site)
    with site.db() as db:
        db.get_one(User, user.id).password_hash = HashedOnce(site.cfg).hash(PASSWORD)
        db.execute(delete(BrowserSession))
    site.http.reset()
    submit(site, "/login", username=ADDRESS, password=PASSWORD)
    own = redeemed(site, app, answer_of(authorize(site, app, scope=OFFLINE))["code"])
    [identity] = identities(site)
    path = f"/account/identities/{identity.id}/unlink"
    done = submit(site, path, page="/account/security", current_password=PASSWORD)
    assert done.status_int == 303
    userinfo(site, offline, 401)
    assert refresh(site, app, offline, 400)["error"] == "invalid_grant"
    site.http.get(f"{BASE}/v1/user", headers=bearer(personal), status=401)
    userinfo(site, own)
    refresh(site, app, own)


def test_the_memory_of_the_guards_does_not_lengthen_it(corp, frozen):
    fake, site, app = corp
    tokens = tokens_of(site, fake, app, scope=OFFLINE)
    cached = Site(site.url, **OPENID, guard_cache="60s")
    cached.http = site.http.__class__(cached.app, extra_environ={"REMOTE_ADDR": "192.0.2.7"})
    path, headers = f"{BASE}/v1/oauth/userinfo", bearer(tokens["access_token"])
    frozen.advance(HOUR.total_seconds() - 1)
    cached.http.get(path, headers=headers)  # for less than a second, whatever the setting says
    frozen.advance(1)
    time.sleep(1.1)
    cached.http.get(path, headers=headers, status=401)
    cached.database.dispose()


def test_another_secret_does_not_lengthen_it(corp, frozen):
    """A second process has the new secret first, and refreshes what the other one has issued."""
    fake, site, app = corp
    tokens = tokens_of(site, fake, app, scope=OFFLINE)
    rotated = Site(site.url, **OPENID, secret="n5Vw2QxJ7rBt9LkD4mZc8HsY1pFaG6uE3vRo0\n" + SECRET)
    frozen.advance(1800)
    tokens = refresh(rotated, app, tokens)
    assert tokens["expires_in"] <= 1800
    [family] = [each for each in rows(site, Family) if each.generation]
    assert family.refresh_expires_at == family.ends_at
    rotated.database.dispose()


def test_a_code_that_began_with_it_is_worth_nothing_after_another_sign_in(corp, frozen):
    """The browser session goes on with the password, and so stays when the identity goes."""
    fake, site, app = corp
    code = code_with(site, fake, app, scope=OFFLINE)
    began = rows(site, BrowserSession)[-1].id
    [user] = users(site)
    with site.db() as db:
        db.get_one(User, user.id).password_hash = HashedOnce(site.cfg).hash(PASSWORD)
    login = f"{BASE}/login?prompt=login"
    submit(site, "/login", page=login, username=ADDRESS, password=PASSWORD)
    [identity] = identities(site)
    path = f"/account/identities/{identity.id}/unlink"
    submit(site, path, page="/account/security", current_password=PASSWORD)
    [session] = rows(site, BrowserSession)
    assert (session.id, session.identity_id) == (began, None)
    assert redeemed(site, app, code, status=400)["error"] == "invalid_grant"
