"""What an ID token says, at first and after a refresh."""

from base64 import urlsafe_b64encode
from hashlib import sha256

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet
from sqlalchemy import update

from authsite.oauth.oidc.keys.ring import ring_of
from authsite.oauth.oidc.keys.stored import SigningKey
from authsite.sign_in import credentials
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users import account
from tests.support.codes import (
    ISSUER,
    application,
    claims_of,
    code_of,
    openid_provider,
    redeem,
    session_of,
)
from tests.support.pages import sign_in

OF_THE_SIGN_IN = ("iss", "sub", "aud", "auth_time", "acr", "amr", "sid")


@pytest.fixture
def provider(site_with):
    """An OpenID Provider where Ann Lee has signed in with a browser."""
    return openid_provider(site_with)


def test_an_id_token_says_who_has_signed_in_when_and_for_whom(frozen, provider):
    app = application(provider)
    session = session_of(provider)
    frozen.advance(30)
    answer = redeem(provider, app, code_of(provider, app, nonce="n-0S6"))
    half = sha256(answer["access_token"].encode()).digest()[:16]
    now = int(frozen.at.timestamp())
    assert claims_of(answer["id_token"]) == {
        "iss": ISSUER,
        "sub": str(session.user_id),
        "aud": app.client_id,
        "iat": now,
        "exp": now + 3600,
        "auth_time": now - 30,
        "nonce": "n-0S6",
        "acr": "aal1",
        "amr": ["pwd"],
        "at_hash": urlsafe_b64encode(half).decode().rstrip("="),
        "sid": str(session.id),
    }


@pytest.mark.parametrize("alg", ["RS256", "ES256"])
def test_each_client_has_its_algorithm(provider, alg):
    app = application(provider, id_token_alg=alg)
    text = redeem(provider, app, code_of(provider, app))["id_token"]
    keys = KeySet.import_key_set(provider.http.get("/.well-known/jwks.json").json)
    token = jwt.decode(text, keys, algorithms=[alg])
    assert (token.header["alg"], token.header["typ"]) == (alg, "JWT")
    assert token.claims["aud"] == app.client_id


def test_each_client_has_its_lifetime(provider):
    app = application(provider, id_token_lifetime=90)
    claims = claims_of(redeem(provider, app, code_of(provider, app))["id_token"])
    assert claims["exp"] - claims["iat"] == 90


def test_no_claim_is_null(provider):
    with provider.db() as db:
        db.execute(update(BrowserSession).values(facts=credentials.pack(account.PROVIDER)))
    app = application(provider)
    claims = claims_of(redeem(provider, app, code_of(provider, app))["id_token"])
    assert None not in claims.values()
    assert {"nonce", "amr"}.isdisjoint(claims)  # RFC 8176 has no value for another provider


def test_a_refresh_says_the_same_of_the_sign_in(frozen, provider):
    """From the family, never from now; no nonce (OpenID Connect Core 1.0, 12.2)."""
    app = application(provider, id_token_lifetime=600)
    answer = redeem(provider, app, code_of(provider, app, nonce="n"))
    first = claims_of(answer["id_token"])
    frozen.advance(1800)
    sign_in(provider, page="/login?prompt=login")  # a later sign-in of the same session
    again = provider.refresh(app, answer["refresh_token"])
    second = claims_of(again["id_token"])
    assert {name: first[name] for name in OF_THE_SIGN_IN} == {
        name: second[name] for name in OF_THE_SIGN_IN
    }
    assert "nonce" not in second
    assert second["iat"] == first["iat"] + 1800
    assert second["exp"] - second["iat"] == 600
    assert second["at_hash"] != first["at_hash"]
    repeated = provider.refresh(app, answer["refresh_token"])  # within the grace
    assert claims_of(repeated["id_token"])["at_hash"] == second["at_hash"]


def test_a_refresh_without_openid_gives_no_id_token(provider):
    app = application(provider)
    answer = redeem(provider, app, code_of(provider, app, "openid profile"))
    narrowed = provider.refresh(app, answer["refresh_token"], scope="profile")
    assert "id_token" not in narrowed


def test_a_family_without_a_code_gets_no_id_token(provider):
    keys = provider.client()
    tokens = provider.login(keys)
    assert "id_token" not in provider.refresh(keys, tokens["refresh_token"])


def test_the_claims_of_the_user_may_be_in_the_id_token(provider):
    """Some applications only read the ID token."""
    plain, both = application(provider), application(provider, claims_in_id_token=True)
    scope = "openid email profile"
    claims = claims_of(redeem(provider, plain, code_of(provider, plain, scope))["id_token"])
    assert {"email", "name"}.isdisjoint(claims)
    claims = claims_of(redeem(provider, both, code_of(provider, both, scope))["id_token"])
    assert (claims["email"], claims["email_verified"]) == ("ann@example.com", True)
    assert claims["name"] == "Ann Lee"


def test_a_key_that_cannot_be_read_leaves_the_code_as_it_is(provider):
    """The grant answers 503; a client that asks again later gets its tokens."""
    services = provider.app.registry["authsite"]
    app = application(provider)
    redeem(provider, app, code_of(provider, app))
    code, plain = code_of(provider, app), code_of(provider, app, "profile")
    with provider.db() as db:
        kept = {key.kid: key.private for key in db.query(SigningKey)}
        db.execute(update(SigningKey).values(private="unreadable"))
    ring_of(services).forget()
    answer = redeem(provider, app, code, 503)
    assert answer["error"] == "temporarily_unavailable"
    redeem(provider, app, plain)
    with provider.db() as db:
        for key in db.query(SigningKey):
            key.private = kept[key.kid]
    ring_of(services).forget()
    redeem(provider, app, code)
