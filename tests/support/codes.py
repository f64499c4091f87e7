"""Authorization codes, stored as the authorization endpoint stores them."""

import json
from base64 import urlsafe_b64decode
from uuid import UUID

from authsite.oauth.clients import registered
from authsite.oauth.codes.models import AuthorizationCode
from authsite.oauth.codes.redeem import s256
from authsite.oauth.codes.service import NewCode, SignInFacts, store
from authsite.oauth.consents import service as consents
from authsite.oauth.models import Client
from authsite.oauth.oidc.keys.ring import ring_of
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.account import account_of
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.pages import sign_in

ISSUER = "https://auth.example.com"
OPENID = {"base_url": ISSUER, "login_identifiers": "email username phone"}
CALLBACK = "https://app.example.com/callback"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"


def openid_provider(site_with, **settings):
    """An OpenID Provider where Ann Lee has signed in with a browser."""
    site = site_with(**{**OPENID, **settings})
    ring_of(site.app.registry["authsite"]).forget()  # those of a test before
    user = site.user(confirmed=True, username="annlee", phone="+49302345678")
    with site.db() as db:
        db.get(User, user.id).name = "Ann Lee"
    sign_in(site)
    return site


def application(site, type="server", **columns):
    """The keys of a new client that uses codes; ``columns``: of its row."""
    keys = site.client("server")
    with site.db() as db:
        client = db.get(Client, UUID(keys.client_id))
        client.type = type
        for name, value in columns.items():
            setattr(client, name, value)
    return keys


def session_of(site, email="ann@example.com"):
    """The newest browser session of a user."""
    with site.db() as db:
        rows = db.query(BrowserSession).join(User, User.id == BrowserSession.user_id)
        return rows.filter(User.email == email).order_by(BrowserSession.created_at.desc()).first()


def code_of(site, keys, scope="openid", *, session=None, verifier=VERIFIER, **more):
    """The text of a code for the user of a browser session, by default Ann's."""
    session = session or session_of(site)
    services = site.app.registry["authsite"]
    with site.db() as db:
        ctx = acting(db, services)
        client = registered.find(ctx, keys.client_id)
        if not client.first_party:
            consents.give(ctx, session.user_id, client.id, scope)
        account = account_of(db.get(User, session.user_id))
    new = NewCode(
        client=client,
        account=account,
        session=SignInFacts(
            session.id,
            session.facts,
            session.auth_at,
            session.recognized,
            session.identity_id,
            session.ends_at,
        ),
        redirect_uri=CALLBACK,
        code_challenge=s256(verifier) if verifier else None,
        scope=scope,
        audience=None,
        nonce=None,
        by_consent=not client.first_party,
    )
    return store(ctx, new._replace(**more))


def redeem(site, keys, code, status=200, *, verifier=VERIFIER, **form):
    """The grant; the answer's JSON."""
    form = {"redirect_uri": CALLBACK, "code_verifier": verifier, **form}
    form = {name: value for name, value in form.items() if value is not None}
    return site.token(keys, status, grant_type="authorization_code", code=code, **form).json


def codes(site):
    """All rows of codes."""
    with site.db() as db:
        return db.query(AuthorizationCode).order_by(AuthorizationCode.created_at).all()


def claims_of(id_token):
    """The claims of an ID token, whose signature is not checked."""
    _head, body, _signature = id_token.split(".")
    return json.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))
