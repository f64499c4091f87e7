"""Signing keys: what is published, stored, signed and read."""

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import timedelta

import pytest
from joserfc import jwt
from joserfc.jwk import import_key
from sqlalchemy import select, update

from authsite.oauth.models import Client
from authsite.oauth.oidc.errors import NotOurIdToken
from authsite.oauth.oidc.id_tokens import claims_of, sign
from authsite.oauth.oidc.keys.ring import ring_of, signer_in
from authsite.oauth.oidc.keys.scheduled import keep_keys
from authsite.oauth.oidc.keys.stored import SigningKey, new_pair
from tests.oidc.keys.conftest import ISSUER, another_process, services_of
from tests.support.acting import acting
from tests.support.described import Described
from tests.support.purging import purged

pytestmark = pytest.mark.both_databases
JWKS = "/.well-known/jwks.json"
ALGORITHMS = ("RS256", "ES256")
CLAIMS = {"iss": ISSUER, "sub": "5f0c", "aud": "client", "exp": 1, "iat": 1}


def published(site):
    return site.http.get(JWKS).json["keys"]


def rows(site):
    with site.db() as db:
        return {row.kid: row for row in db.scalars(select(SigningKey))}


def context(site):
    return acting(None, services_of(site))


def test_two_keys_of_each_algorithm_are_published_and_nothing_private(provider):
    keys = published(provider)
    assert [key["alg"] for key in keys] == ["RS256", "RS256", "ES256", "ES256"]
    for key in keys:
        numbers = {"n", "e"} if key["alg"] == "RS256" else {"crv", "x", "y"}
        assert set(key) == {"kty", "kid", "use", "alg", *numbers}
        assert (key["use"], key["kty"]) == ("sig", "RSA" if key["alg"] == "RS256" else "EC")
        assert key["kid"] == import_key(key).thumbprint()  # RFC 7638
        if key["alg"] == "RS256":
            assert len(urlsafe_b64decode(key["n"] + "==")) == 256
        else:
            assert key["crv"] == "P-256"


def test_no_id_of_a_key_looks_like_an_option_of_a_command():
    assert not [kid for _ in range(300) if (kid := new_pair("ES256").kid).startswith("-")]


def test_the_list_may_be_cached_for_an_hour_by_everyone(provider):
    answer = provider.http.get(JWKS, headers={"Origin": "https://app.example"})
    assert answer.headers["Cache-Control"] == "public, max-age=3600"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    Described(provider).fits(answer, "GET", JWKS)
    again = provider.http.get(JWKS, headers={"If-None-Match": answer.headers["ETag"]}, status=304)
    Described(provider).fits(again, "GET", JWKS)


def test_private_parts_are_sealed_and_bound_to_their_row(provider):
    published(provider)
    services = services_of(provider)
    for row in rows(provider).values():
        assert row.private.startswith(services.sealing.prefix)
        assert '"d"' not in row.private + row.public
    first, second, *_ = rows(provider).values()
    with provider.db() as db:
        swapped = update(SigningKey).where(SigningKey.kid == first.kid)
        db.execute(swapped.values(private=second.private))
    keys = ring_of(another := another_process(provider)).keys(another).keys
    assert [key.stored.kid for key in keys if key.is_unusable] == [first.kid]


@pytest.mark.parametrize("alg", ALGORITHMS)
def test_a_token_has_the_claims_and_a_header_that_names_a_published_key(provider, alg):
    token = sign(context(provider), {**CLAIMS, "nonce": None}, alg)
    header = json.loads(urlsafe_b64decode(token.split(".")[0] + "=="))
    [key] = [key for key in published(provider) if key["kid"] == header["kid"]]
    assert header == {"typ": "JWT", "alg": alg, "kid": key["kid"]}
    assert jwt.decode(token, import_key(key), algorithms=[alg]).claims == CLAIMS  # no null
    assert claims_of(context(provider), token) == CLAIMS  # it expired in 1970


def encoded(value):
    return urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def forged(site, token):
    """Texts other than ID tokens of ours, by what is wrong with them."""
    header, payload, signature = token.split(".")
    services = services_of(site)
    ours = signer_in(ring_of(services).keys(services), "RS256")
    named = {"alg": "RS256", "kid": ours.stored.kid}

    def signed(header, claims=CLAIMS, key=ours.signer):
        algorithm = [header["alg"]]
        return jwt.encode(header, claims, key, algorithms=algorithm)

    public = import_key(json.loads(ours.stored.public))
    yield "nothing", ""
    yield "no token", "a.b.c"
    yield "not ASCII", token + "ä"
    yield "too long", token + "a" * 8200
    yield "other claims", f"{header}.{encoded({**CLAIMS, 'sub': 'other'})}.{signature}"
    yield "no signature", f"{encoded({'typ': 'JWT', 'alg': 'none'})}.{payload}."
    yield "none", f"{encoded({'typ': 'JWT', 'alg': 'none', 'kid': ours.stored.kid})}.{payload}."
    confused = f"{encoded({**named, 'typ': 'JWT', 'alg': 'HS256'})}.{payload}"
    mac = hmac.digest(public.as_pem(), confused.encode(), "sha256")
    yield "the public key as a secret", f"{confused}.{urlsafe_b64encode(mac).decode().rstrip('=')}"
    yield "an access token", signed({**named, "typ": "at+jwt"})
    yield "another issuer", signed({**named, "typ": "JWT"}, {**CLAIMS, "iss": "https://x.example"})
    yield "an unknown key", signed({**named, "typ": "JWT", "kid": "x"})
    yield (
        "a kid that is no text",
        f"{encoded({'typ': 'JWT', 'alg': 'RS256', 'kid': []})}.{payload}.x",
    )
    yield "no kid", signed({"typ": "JWT", "alg": "RS256"})
    yield "another algorithm", f"{encoded({**named, 'typ': 'JWT', 'alg': 'ES256'})}.{payload}.x"
    yield "not an object", signed({**named, "typ": "JWT"}).split(".")[0] + ".W10.x"
    yield "critical", f"{encoded({**named, 'typ': 'JWT', 'crit': ['b64']})}.{payload}.{signature}"


def test_what_we_have_not_signed_as_an_id_token_is_refused(provider):
    token = sign(context(provider), CLAIMS, "RS256")
    for what, text in forged(provider, token):
        with pytest.raises(NotOurIdToken):
            raise AssertionError(f"{what}: {claims_of(context(provider), text)}")


def test_a_key_is_published_a_day_longer_than_its_tokens_live_and_known_for_a_year(
    provider_with, frozen
):
    provider = provider_with(signing_key_rotation="2d", id_token_expires_in="2h")
    token = sign(context(provider), CLAIMS, "ES256")
    kid = json.loads(urlsafe_b64decode(token.split(".")[0] + "=="))["kid"]
    frozen.advance(timedelta(days=2).total_seconds())
    keep_keys(services_of(provider))

    def is_published():
        return kid in [key["kid"] for key in published(provider)]

    assert rows(provider)[kid].private is None
    frozen.advance(timedelta(hours=26, seconds=-1).total_seconds())
    assert is_published()
    frozen.advance(1)
    assert not is_published()
    keys = provider.client("personal")
    with provider.db() as db:  # a client whose ID tokens live longer
        db.execute(update(Client).values(id_token_lifetime=6 * 3600))
    assert keys.client_id
    frozen.advance(61)
    assert is_published()
    frozen.advance(timedelta(days=364).total_seconds() - 26 * 3600)
    assert purged(provider).get("signing_keys") is None
    assert claims_of(context(provider), token) == CLAIMS
    assert not is_published()
    frozen.advance(timedelta(days=1).total_seconds())
    with pytest.raises(NotOurIdToken):
        claims_of(context(provider), token)
    assert purged(provider)["signing_keys"] == 2


def test_keys_are_read_again_every_minute_and_at_once_for_an_unknown_one(provider, frozen):
    ours, other = services_of(provider), another_process(provider)
    token = sign(acting(None, other), CLAIMS, "RS256")
    frozen.advance(1)
    assert claims_of(context(provider), token) == CLAIMS
    before = ring_of(ours).keys(ours)
    frozen.advance(59)
    assert ring_of(ours).keys(ours) is before
    frozen.advance(1)
    assert ring_of(ours).keys(ours) is not before
