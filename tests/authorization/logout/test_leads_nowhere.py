"""Requests to ``/oauth/logout`` that are wrong: no way back, and the session goes on."""

from urllib.parse import urlencode
from uuid import UUID

import pytest

from authsite.oauth.models import Client
from authsite.platform.runtime import clock
from tests.support.authorizing import BASE, application
from tests.support.signing_out import (
    GOODBYE,
    PATH,
    ask,
    asks,
    hint,
    hint_of,
    press,
    register,
    sent,
    signed_in,
)

WRONG_URIS = (
    f"{GOODBYE}/",
    f"{GOODBYE}?a=b",
    GOODBYE.upper(),
    "https://app.example.org:443/goodbye",
    "https://app.example.org/x/../goodbye",
    "http://app.example.org/goodbye",
    "https://evil.example/",
    "https://app.example.org/callback",
    "//app.example.org/goodbye",
    "javascript:alert(1)",
)


@pytest.mark.parametrize("uri", WRONG_URIS)
def test_a_uri_that_is_not_registered_leads_nowhere(issuer, app, tokens, uri):
    """rp-initiated-logout-bad- and -query-added-to-post-logout-redirect-uri"""
    page = ask(issuer, hint_of(tokens), post_logout_redirect_uri=uri)
    assert asks(page, 400)
    assert "not registered" in page.text
    assert signed_in(issuer)
    done = press(issuer, page, 303)
    assert done.location == f"{BASE}/?done=signed-out"
    assert not signed_in(issuer)


def test_the_uri_is_that_of_the_same_client(issuer, app, tokens):
    other = application(issuer, name="Other")
    register(issuer, other, "https://other.example/bye")
    asked = {"post_logout_redirect_uri": "https://other.example/bye"}
    assert asks(ask(issuer, hint_of(tokens), **asked), 400)
    assert asks(ask(issuer, **asked), 400)  # of no client at all
    page = ask(issuer, hint_of(tokens), client_id=other.client_id, **asked)
    assert asks(page, 400)  # the two do not agree
    assert signed_in(issuer)


def tampered(text):
    head, body, signature = text.split(".")
    return f"{head}.{body}.{signature[:-4]}{'AAAA' if signature[-4:] != 'AAAA' else 'BBBB'}"


@pytest.mark.parametrize("kind", ["no token", "changed", "access token", "other issuer", "long"])
def test_a_bad_hint_leads_nowhere(issuer, app, tokens, kind):
    """rp-initiated-logout-bad- and -modified-id-token-hint; never an access token"""
    bad = {
        "no token": "x",
        "changed": tampered(hint_of(tokens)),
        "access token": tokens["access_token"],
        "other issuer": hint(issuer, app, iss="https://evil.example"),
        "long": "x" * 7000,
    }[kind]
    for more in ({}, {"client_id": app.client_id}, {"post_logout_redirect_uri": None}):
        page = ask(issuer, bad, **more)
        assert asks(page, 400)
        assert signed_in(issuer)
    assert press(issuer, page, 303).location == f"{BASE}/?done=signed-out"


def test_a_hint_of_a_type_that_is_no_id_token_is_bad(issuer, app, tokens):
    """One that our own key has signed, as a later access token might be (RFC 9068)."""
    from joserfc import jwt

    from authsite.oauth.oidc.keys.ring import ring_of, signer_in

    services = issuer.app.registry["authsite"]
    key = signer_in(ring_of(services).keys(services), "RS256")
    claims = {"iss": BASE, "sub": "x", "aud": app.client_id, "sid": "x"}
    header = {"typ": "at+jwt", "alg": "RS256", "kid": key.stored.kid}
    text = jwt.encode(header, claims, key.signer, algorithms=["RS256"])
    assert asks(ask(issuer, text), 400)


def test_a_uri_without_a_client_leads_nowhere(issuer, app, tokens):
    page = ask(issuer)
    assert asks(page, 400)
    assert press(issuer, page, 303).location == f"{BASE}/?done=signed-out"


@pytest.mark.parametrize("client_id", ["x", str(UUID(int=7)), "2"])
def test_an_unknown_client_leads_nowhere(issuer, app, tokens, client_id):
    for more in ({}, {"post_logout_redirect_uri": None}):
        assert asks(ask(issuer, client_id=client_id, **more), 400)


def test_a_disabled_client_leads_nowhere_but_its_hint_is_valid(issuer, app, tokens):
    with issuer.db() as db:
        db.get(Client, app.id).disabled_at = clock.now()
    assert asks(ask(issuer, hint_of(tokens)), 400)
    assert signed_in(issuer)
    assert ask(issuer, hint_of(tokens), post_logout_redirect_uri=None).status_int == 303
    assert not signed_in(issuer)


REPEATED = ("id_token_hint", "client_id", "post_logout_redirect_uri", "state", "ui_locales")


@pytest.mark.parametrize("name", REPEATED)
def test_a_repeated_parameter_leads_nowhere(issuer, app, tokens, name):
    given = sent(hint_of(tokens), client_id=app.client_id, ui_locales="en")
    page = issuer.http.get(f"{PATH}?{urlencode([*given.items(), (name, given[name])])}", status=400)
    assert asks(page, 400)
    assert signed_in(issuer)


@pytest.mark.parametrize("query", ["state=%FF", f"state={'x' * 2049}", "&".join(["a=b"] * 101)])
def test_a_query_that_cannot_be_read_leads_nowhere(issuer, app, tokens, query):
    assert asks(issuer.http.get(f"{PATH}?{query}", status=400), 400)
