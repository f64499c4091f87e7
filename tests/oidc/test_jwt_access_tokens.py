"""Access tokens that a resource checks itself (RFC 9068)."""

import json
from base64 import urlsafe_b64decode
from threading import Thread
from wsgiref.simple_server import make_server

import jwt
import pytest
from joserfc import jwt as jose
from joserfc.jwk import KeySet

from authsite.oauth.models import Family
from authsite.oauth.oidc import id_tokens
from authsite.oauth.oidc.keys.ring import ring_of
from authsite.oauth.oidc.keys.stored import SigningKey
from authsite.users.models import User
from tests.support import guides
from tests.support.acting import acting
from tests.support.applications import resource
from tests.support.codes import ISSUER, application, claims_of, code_of, openid_provider, redeem
from tests.support.in_process import Commands

EXAMPLE = "https://auth.example.org"
API = "https://api.example.com/"
SCOPES = "orders:read orders:write"


@pytest.fixture
def site(site_with):
    return openid_provider(site_with, scopes="orders:read: Orders\norders:write: Change")


@pytest.fixture
def server(site):
    """The resource server of the API, whose tokens are JWTs."""
    keys = site.client("resource-server")
    resource(site, API, SCOPES, keys, tokens="jwt")
    return keys


@pytest.fixture
def app(site, server):
    return application(site, scope=SCOPES)


def head_of(token):
    text = token.partition(".")[0]
    return json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def tokens_by_code(site, app, scope="openid orders:read offline_access", **more):
    return redeem(site, app, code_of(site, app, scope, audience=API, **more))


def public_keys(site):
    return site.http.get("/.well-known/jwks.json").json


def introspected(site, keys, token):
    return site.introspect(keys, token)


def test_the_claims_are_those_of_section_2_2(frozen, site, app):
    answer = tokens_by_code(site, app)
    head, claims = head_of(answer["access_token"]), claims_of(answer["access_token"])
    assert head["typ"] == "at+jwt"
    assert head["alg"] == "RS256"
    assert head["kid"] in [each["kid"] for each in public_keys(site)["keys"]]
    with site.db() as db:
        user, family = db.query(User).one(), db.query(Family).one()
    assert claims == {
        "iss": ISSUER,
        "aud": API,
        "sub": str(user.id),
        "client_id": app.client_id,
        "scope": "openid orders:read offline_access",
        "iat": int(frozen.at.timestamp()),
        "exp": int(frozen.at.timestamp()) + 300,
        "jti": f"{family.id}.0",
        "auth_time": claims["auth_time"],
        "acr": "aal1",
        "amr": ["pwd"],
    }
    assert answer["expires_in"] == 300
    assert answer["token_type"] == "Bearer"


def test_a_gateway_checks_it_with_joserfc_and_with_pyjwt(site, app):
    token = tokens_by_code(site, app)["access_token"]
    keys = KeySet.import_key_set(public_keys(site))
    found = jose.decode(token, keys, algorithms=["RS256"])
    assert found.claims["aud"] == API
    one = next(k for k in public_keys(site)["keys"] if k["kid"] == head_of(token)["kid"])
    claims = jwt.decode(
        token, jwt.PyJWK(one).key, algorithms=["RS256"], audience=API, issuer=ISSUER,
        options={"verify_exp": False, "verify_iat": False},
    )  # fmt: skip
    assert claims["sub"] == found.claims["sub"]


def test_the_gateway_of_the_guide_accepts_what_it_should(site, app):
    """docs/gateway.md: its code, with the issuer's keys from our own server."""
    [block] = [each for each in guides.blocks("gateway") if each.title == "gateway.py"]
    names = {}
    with make_server("127.0.0.1", 0, site.app) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{server.server_port}"
        exec(block.text.replace('f"{ISSUER}/', f'"{here}/').replace(EXAMPLE, ISSUER), names)  # noqa: S102  what the page shows
        answer = tokens_by_code(site, app)
        assert names["claims_of"](answer["access_token"], "orders:read")["client_id"]
        for token, scope in (
            (answer["access_token"], "orders:write"),
            (answer["id_token"], "openid"),
            (answer["access_token"][:-4] + "AAAA", "orders:read"),
        ):
            with pytest.raises(jwt.InvalidTokenError):
                names["claims_of"](token, scope)
        server.shutdown()


def test_a_machine_gets_one_without_a_user(site, server):
    keys = site.client("personal", scope=SCOPES, default_scope=SCOPES)
    form = {"grant_type": "client_credentials", "resource": API}
    claims = claims_of(site.token(keys, **form).json["access_token"])
    assert claims["sub"] == claims["client_id"] == keys.client_id
    assert not {"acr", "amr", "auth_time", "groups"} & claims.keys()


def test_no_token_lives_longer_than_the_setting_says(frozen, site_with):
    site = openid_provider(site_with, scopes="orders:read: Orders", jwt_expires_in="10m")
    resource(site, API, "orders:read", tokens="jwt")
    app = application(site, scope="orders:read")
    assert tokens_by_code(site, app)["expires_in"] == 600


def test_a_shorter_life_of_access_tokens_holds(frozen, site_with):
    site = openid_provider(site_with, scopes="orders:read: Orders", expires_in="60s")
    resource(site, API, "orders:read", tokens="jwt")
    app = application(site, scope="orders:read")
    assert tokens_by_code(site, app)["expires_in"] == 60


def test_other_resources_have_opaque_tokens(site, app):
    other = resource(site, "https://other.example.com/", "orders:read")
    answer = redeem(site, app, code_of(site, app, "orders:read", audience=other))
    assert answer["access_token"].startswith("at_")


def test_a_refresh_gives_the_next_one_and_the_grace_the_same_text(frozen, site, app):
    first = tokens_by_code(site, app)
    frozen.advance(60)
    form = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    second = site.token(app, **form).json
    claims, before = claims_of(second["access_token"]), claims_of(first["access_token"])
    assert claims["jti"] == before["jti"].removesuffix(".0") + ".1"
    assert claims["exp"] == before["exp"] + 60
    assert claims["auth_time"] == before["auth_time"]
    assert site.token(app, **form).json["access_token"] == second["access_token"]


def test_introspection_knows_what_a_resource_alone_does_not(frozen, site, app, server):
    token = tokens_by_code(site, app)["access_token"]
    answer = introspected(site, server, token)
    claims = claims_of(token)
    for name in ("sub", "aud", "scope", "exp", "iat", "client_id", "acr", "iss"):
        assert answer[name] == claims[name], name
    assert not introspected(site, site.client("resource-server"), token)["active"]
    site.revoke(app, token)
    assert introspected(site, server, token) == {"active": False}


def test_an_expired_one_is_inactive_and_can_still_be_revoked(frozen, site, app, server):
    answer = tokens_by_code(site, app)
    frozen.advance(301)
    assert not introspected(site, server, answer["access_token"])["active"]
    site.revoke(app, answer["access_token"])
    form = {"grant_type": "refresh_token", "refresh_token": answer["refresh_token"]}
    assert site.token(app, 400, **form).json["error"] == "invalid_grant"


def test_it_opens_nothing_of_ours(site, app):
    token = tokens_by_code(site, app)["access_token"]
    headers = {"Authorization": f"Bearer {token}"}
    for path in ("/v1/user", "/v1/oauth/userinfo", "/v1/guard/api?scope=orders:read"):
        assert site.http.get(path, headers=headers, status=401)


@pytest.mark.parametrize("change", ["signature", "type", "none", "issuer", "jti", "id token"])
def test_a_forged_one_is_no_token(site, app, server, change):
    answer = tokens_by_code(site, app)
    services = site.app.registry["authsite"]
    claims = claims_of(answer["access_token"])
    with site.db() as db:
        ctx = acting(db, services)
        made = {
            "signature": answer["access_token"][:-4] + "AAAA",
            "type": id_tokens.sign(ctx, claims, "RS256"),
            "none": jwt.encode(claims, None, algorithm="none", headers={"typ": "at+jwt"}),
            "issuer": id_tokens.sign(ctx, {**claims, "iss": "https://x.io"}, "RS256", "at+jwt"),
            "jti": id_tokens.sign(ctx, {**claims, "jti": "1"}, "RS256", "at+jwt"),
            "id token": answer["id_token"],
        }[change]  # fmt: skip
    assert introspected(site, server, made) == {"active": False}
    headers = {"Authorization": f"Bearer {made}"}
    assert site.http.get("/v1/user", headers=headers, status=401)


def test_it_is_not_taken_for_an_id_token_hint(site, app):
    token = tokens_by_code(site, app)["access_token"]
    page = site.http.get("/oauth/logout", {"id_token_hint": token}, status="*")
    assert page.status_int == 400


def test_groups_are_told_with_their_scope_alone(site, app):
    with site.db() as db:
        db.query(User).update({"labels": "ops"})
    assert "groups" not in claims_of(tokens_by_code(site, app)["access_token"])
    token = tokens_by_code(site, app, "groups orders:read")["access_token"]
    assert claims_of(token)["groups"] == ["ops"]


def test_without_a_key_nothing_is_used_up(site, app):
    """The code works afterwards: that a key can sign is asked before anything is written."""
    code = code_of(site, app, "orders:read", audience=API)
    public_keys(site)  # the first ones are made
    with site.db() as db:
        sealed = {each.kid: each.private for each in db.query(SigningKey)}
        db.query(SigningKey).update({"private": "x"})
    ring = ring_of(site.app.registry["authsite"])
    ring.forget()
    assert redeem(site, app, code, 503)["error"] == "temporarily_unavailable"
    with site.db() as db:
        for kid, private in sealed.items():
            db.query(SigningKey).filter_by(kid=kid).update({"private": private})
    ring.forget()
    assert redeem(site, app, code)["access_token"].startswith("eyJ")


def test_a_resource_changes_its_form_from_the_next_tokens_on(site, app, tmp_path):
    first = tokens_by_code(site, app)
    Commands(site, tmp_path).run("resource", "update", API, "--tokens", "opaque")
    form = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    assert site.token(app, **form).json["access_token"].startswith("at_")
