"""A thief with a stolen sign-in of password and app, and the password, but without the app.

The sign-in is older than `PROOF_LIFETIME`. All routes that take a session or a token are tried, so
that a new one is, too; `CHANGES` says which ones a recent proof opens, and shows that the calls are
right.
"""

import re
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import pytest
from sqlalchemy import func, select, update

from authsite.guards.route_options import rules_of
from authsite.oauth.models import Family, PersonalToken
from authsite.platform.http.own_routes import is_own
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import pack
from authsite.sign_in.methods.mail_code.codes import code_of
from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.sign_in.methods.recovery_codes.service import RecoveryCode
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.sign_in.pending import PendingLogin
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.identities import Identity
from authsite.users.models import User
from tests.support import authorizing
from tests.support.authorizing import OPENID, application, authorize, leads_to
from tests.support.factors import add_passkey, add_totp, passkey_row
from tests.support.identities import linked
from tests.support.pages import csrf_of
from tests.support.site import PASSWORD, bearer

FIELDS = {
    "current_password": PASSWORD,
    "password": "purple wolf 77 tea",
    "email": "thief@example.org",
    "name": "script",
    "after_password": True,
    "code": "123456",
    "mail_code": "WDJB-MJHT",
    "method": "totp",
    "max_age": "600",
    "acr_values": "aal2",
}
CHANGES = {
    ("authsite.user", "DELETE"),
    ("authsite.user.email", "PUT"),
    ("authsite.user.export", "POST"),
    ("authsite.user.identity", "DELETE"),
    ("authsite.user.passkey", "DELETE"),
    ("authsite.user.passkeys.options", "POST"),
    ("authsite.user.password", "PUT"),
    ("authsite.user.recovery_codes", "POST"),
    ("authsite.user.second_factor", "PUT"),
    ("authsite.user.tokens", "POST"),
    ("authsite.user.totp", "DELETE"),
    ("authsite.user.totp", "POST"),
    ("authsite.account.delete", "POST"),
    ("authsite.account.email", "POST"),
    ("authsite.account.export", "POST"),
    ("authsite.account.factors.after_password", "POST"),
    ("authsite.account.factors.codes", "POST"),
    ("authsite.account.factors.passkeys", "POST"),
    ("authsite.account.factors.passkeys.remove", "POST"),
    ("authsite.account.factors.totp", "POST"),
    ("authsite.account.factors.totp.remove", "POST"),
    ("authsite.account.identities.unlink", "POST"),
    ("authsite.account.password", "POST"),
    ("authsite.account.tokens", "POST"),
}
"""What needs a proof. Where the route is missing here, nothing that `held` reads may change."""


def with_owner(site):
    """Ann, who has an app, two passkeys, recovery codes and an identity; returns the site."""
    site.ann = site.user(confirmed=True)
    add_totp(site, site.ann)
    add_passkey(site, site.ann)
    with site.db() as db:
        site.passkey = passkey_row(site.ann.id, uuid4())
        site.identity = linked(db, site.ann.id)
        db.add(site.passkey)
    site.keys = site.client()
    return site


@pytest.fixture
def site(site_with):
    return with_owner(site_with(**OPENID))


def stolen(site, minutes):
    """A browser with Ann's session, and a client with her token, proved so long ago."""
    with site.db() as db:
        db.execute(update(User).values(second_factor_at=None))
    site.new_browser()
    authorizing.sign_in(site)
    token = site.login(site.keys)["access_token"]
    at = clock.now() - timedelta(minutes=minutes)
    with site.db() as db:
        db.execute(update(User).values(second_factor_at=clock.now()))
        for model in (BrowserSession, Family):
            db.execute(update(model).values(facts=pack(("pwd", "otp")), auth_at=at))
    return token


def held(site):
    """What a thief must not change, and must not get."""
    with site.db() as db:
        user = db.get(User, site.ann.id)
        if user is None:
            return None
        own = (user.email, user.password_hash, user.second_factor_at, user.passkey_after_password)
        rows = [
            sorted(db.scalars(select(model.id)))
            for model in (TotpFactor, Passkey, RecoveryCode, PersonalToken, Identity)
        ]
        late = clock.now() - timedelta(minutes=9)
        fresh = [
            db.scalar(select(func.count()).where(model.facts.is_not(None), model.auth_at > late))
            for model in (BrowserSession, Family)
        ]
        return own, rows, user.factor_version, fresh


def routes(site):
    """Every (route, method, path, guard) of ours that changes something for a signed-in user."""
    mapper = {each.name: each for each in site.app.routes_mapper.get_routes()}
    found = set()
    for item in site.app.registry.introspector.get_category("views"):
        view = item["introspectable"]
        name, methods = view["route_name"], view["request_methods"] or ()
        if not name or not is_own(name) or name not in mapper:
            continue
        guard = rules_of(mapper[name]).guard
        methods = {methods} if isinstance(methods, str) else set(methods)
        for method in methods - {"GET", "HEAD"} if guard else ():
            found.add((name, method, mapper[name].pattern, guard))
    return sorted(found)


def call(site, name, method, pattern, guard, token):
    """Call the route with all that the thief has; the answer."""
    own = site.passkey.id if "passkey" in name else site.identity.id
    path = authorizing.BASE + re.sub(r"\{[^}]*\}", str(own), pattern)
    if guard == "api":
        return _json(site, method, path, token)
    page = site.http.get(f"{authorizing.BASE}/account/security", status="*")
    form = {**FIELDS, "after_password": "true", "csrf_token": csrf_of(page)}
    return site.http.post(path, form, status="*")


def _json(site, method, path, token):
    send = getattr(site.http, f"{method.lower()}_json")
    return send(path, FIELDS, headers=bearer(token), status="*")


def is_refused(answer):
    """Whether a proof is asked for first."""
    if answer.status_int == 401:
        return "insufficient_user_authentication" in answer.headers["WWW-Authenticate"]
    moved = answer.location or ""
    return answer.status_int == 303 and "/login/verify?" in moved and "unsaved=1" in moved


def test_no_route_gives_a_thief_anything(site):
    """Whatever a route does, nothing that is `held` changes; what needs a proof asks for it."""
    before, wrong = None, []
    for route in routes(site):
        token = stolen(site, minutes=11)
        before = held(site)
        answer = call(site, *route, token)
        if held(site) != before:
            wrong.append(route)
        if (route[:2] in CHANGES) is not is_refused(answer):
            wrong.append((*route, answer.status_int, answer.location))
    assert wrong == [], wrong
    assert {each[:2] for each in routes(site)} >= CHANGES


@pytest.mark.parametrize("name", sorted(CHANGES), ids=lambda each: " ".join(each))
def test_with_a_recent_proof_the_same_call_is_let_through(site, name):
    token = stolen(site, minutes=5)
    route = next(each for each in routes(site) if each[:2] == name)
    assert not is_refused(call(site, *route, token))


def test_the_password_and_the_cookie_renew_no_time(site):
    stolen(site, minutes=11)
    form = {"username": "ann@example.com", "password": PASSWORD, "prompt": "login"}
    page = site.http.get(f"{authorizing.BASE}/login?prompt=login")
    answer = site.http.post(f"{authorizing.BASE}/login", {**form, "csrf_token": csrf_of(page)})
    assert answer.location == f"{authorizing.BASE}/login/factor"
    for query in ("max_age=600", "max_age=0", "acr_values=aal1&max_age=1"):
        page = site.http.get(f"{authorizing.BASE}/login/verify?{query}")
        form = {"csrf_token": csrf_of(page), "current_password": PASSWORD}
        asked = dict(each.split("=") for each in query.split("&"))
        answer = site.http.post(f"{authorizing.BASE}/login/verify", {**form, **asked}, status="*")
        assert answer.status_int == 422
    with site.db() as db:
        assert db.scalar(select(func.max(BrowserSession.auth_at))) < clock.now() - timedelta(
            minutes=10
        )


@pytest.mark.parametrize("asked", [{"max_age": "600"}, {"max_age": "0"}, {"prompt": "login"}])
def test_no_application_hears_of_a_recent_sign_in(site, asked):
    app = application(site, first_party=True)
    stolen(site, minutes=11)
    answer = authorize(site, app, **asked)
    assert leads_to(answer) in ("/login/verify", "/login")
    page = site.http.get(answer.location)
    form = next(each for each in page.forms.values() if "csrf_token" in each.fields)
    given = {name: value for name, value in form.submit_fields() if name != "current_password"}
    given |= {"current_password": PASSWORD, "username": "ann@example.com", "password": PASSWORD}
    site.http.post(f"{authorizing.BASE}{form.action}", given, status="*")
    # What needs no proof changes the session, and its key.
    page = site.http.get(f"{authorizing.BASE}/account/security")
    others = f"{authorizing.BASE}/account/sessions/end-others"
    site.http.post(others, {"csrf_token": csrf_of(page)}, status=303)
    back = dict(parse_qsl(urlsplit(answer.location).query))["next"]
    again = site.http.get(authorizing.BASE + back, status="*")
    assert leads_to(again) in ("/login/verify", "/login", "/login/factor")


def test_a_stolen_refresh_token_keeps_its_level_and_time(site):
    stolen(site, minutes=1)
    with site.db() as db:
        db.execute(update(User).values(second_factor_at=None))
    pair = site.login(site.keys)
    with site.db() as db:
        db.execute(update(User).values(second_factor_at=clock.now()))
        before = db.execute(select(Family.facts, Family.auth_at).order_by(Family.id)).all()
    pair = site.refresh(site.keys, pair["refresh_token"])
    with site.db() as db:
        assert db.execute(select(Family.facts, Family.auth_at).order_by(Family.id)).all() == before
    answer = _json(site, "POST", f"{authorizing.BASE}/v1/user/totp", pair["access_token"])
    assert 'acr_values="aal2", max_age=600' in answer.headers["WWW-Authenticate"]


def test_a_mailed_code_is_no_way_around_the_factor(site):
    """The thief reads the mailbox for a moment, too."""
    token = stolen(site, minutes=11)
    site.http.post(f"{authorizing.BASE}/v1/user/mail-code", headers=bearer(token), status=202)
    with site.db() as db:
        row = db.scalars(select(PendingLogin)).one()
        code = code_of(site.app.registry["authsite"].keys, row.id)
    body = {"current_password": PASSWORD, "mail_code": code}
    for path in ("totp", "recovery-codes", "passkeys/options"):
        site.http.post_json(
            f"{authorizing.BASE}/v1/user/{path}", body, headers=bearer(token), status=401
        )
