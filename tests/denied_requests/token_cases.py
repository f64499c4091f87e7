"""The token endpoint, and how clients authenticate: one request for each reason."""

from base64 import b64encode
from datetime import timedelta
from uuid import UUID

from sqlalchemy import update

from authsite.oauth import resources
from authsite.oauth.codes.models import AuthorizationCode
from authsite.oauth.models import Client, Family
from authsite.platform.runtime import clock
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.support import codes
from tests.support.applications import resource
from tests.support.authorizing import application as public_application
from tests.support.codes import CALLBACK, VERIFIER, application, code_of
from tests.support.factors import add_totp
from tests.support.members import in_group
from tests.support.pages import sign_in
from tests.support.site import PASSWORD

from .cases import Denied, case

NONE = {}
TOKEN = "/v1/oauth/token"
MCP = "https://mcp.example.com/"


def post(world, form, shown, headers=None, path=TOKEN):
    return Denied(world.site.http.post(path, form, headers=headers, status="*"), shown)


def grant(world, keys, shown, **form):
    """The token endpoint with the keys of a client."""
    return post(world, keys.form(**form), shown)


def basic(client_id, secret):
    text = b64encode(f"{client_id}:{secret}".encode()).decode()
    return {"Authorization": f"Basic {text}"}


# Clients.


MACHINE = {"grant_type": "client_credentials"}


@case("client.basic_malformed")
def basic_malformed(world):
    return post(world, MACHINE, NONE, {"Authorization": "Basic §".encode().decode("latin-1")})


@case("client.unknown")
def unknown(world):
    return post(world, MACHINE, NONE, basic("6f9619ff-8b86-4d01-b42d-00cf4fc964ff", "x"))


@case("client.secret_missing")
def secret_missing(world):
    keys = world.site.client("personal")
    return post(world, {**MACHINE, "client_id": keys.client_id}, NONE)


@case("client.secret_wrong")
def secret_wrong(world):
    keys = world.site.client("personal")
    return post(world, MACHINE, NONE, basic(keys.client_id, "SECRET-not-this"))


@case("client.public")
def public(world):
    app = public_application(world.site, "browser")
    return post(world, MACHINE, NONE, basic(app.client_id, "x"))


@case("client.public_basic")
def public_basic(world):
    app = public_application(world.site, "browser")
    return post(world, MACHINE, NONE, basic(app.client_id, ""))


@case("client.two_ways")
def two_ways(world):
    keys = world.site.client("personal")
    return post(world, keys.form(**MACHINE), NONE, basic(keys.client_id, keys.client_secret))


@case("client.query")
def query(world):
    return post(world, world.site.client("personal").form(**MACHINE), NONE, path=f"{TOKEN}?x=1")


# Codes.


def signed_in(world, **settings):
    """Ann has signed in with a browser."""
    site = world.another(**settings) if settings else world.site
    site.user(confirmed=True)
    sign_in(site)
    return site


def redeem(world, keys, code, shown, *, verifier=VERIFIER, redirect_uri=CALLBACK, **more):
    form = {"code": code, "code_verifier": verifier, "redirect_uri": redirect_uri, **more}
    form = {name: value for name, value in form.items() if value is not None}
    return grant(world, keys, shown, grant_type="authorization_code", **form)


def with_code(world, shown, *, change=None, scope="openid", code=None, app=None, **more):
    """A code, which is redeemed after ``change(site, app)``."""
    site = signed_in(world)
    app = app or application(site)
    text = code_of(site, app, scope, **(code or {}))
    if change:
        change(site, app)
    return redeem(world, app, text, shown, **more)


def with_changed(world, model, **columns):
    """A code, which is redeemed after the rows of a table were changed."""
    return with_code(world, NONE, change=lambda site, _app: update_all(site, model, **columns))


def third_party_token(world):
    """The access token of an application of a third party."""
    site = signed_in(world)
    app = application(site)
    return app, codes.redeem(site, app, code_of(site, app))["access_token"]


def resource_token(world):
    """An access token for the resource `MCP`."""
    world.site.user(confirmed=True)
    resource(world.site, MCP)
    return world.site.login(world.site.client(), resource=MCP)["access_token"]


@case("token.code_unknown")
def code_unknown(world):
    return redeem(world, application(world.site), "ac_CODE-marker", NONE)


@case("token.code_client_changed")
def code_client_changed(world):
    def change(site, app):
        set_client(site, app, epoch=7)

    return with_code(world, NONE, change=change)


def set_client(site, app, **columns):
    with site.db() as db:
        for name, value in columns.items():
            setattr(db.get(Client, UUID(app.client_id)), name, value)


def update_all(site, model, **columns):
    with site.db() as db:
        db.execute(update(model).values(**columns))


def ago(**delta):
    return clock.now() - timedelta(**delta)


@case("token.code_expired")
def code_expired(world):
    return with_changed(world, AuthorizationCode, expires_at=ago(seconds=1))


@case("token.code_other_client")
def code_other_client(world):
    site = signed_in(world)
    return redeem(world, application(site), code_of(site, application(site)), NONE)


@case("token.code_redirect_uri")
def code_redirect_uri(world):
    sent = f"{CALLBACK}/"
    shown = {"sent": sent, "expected": CALLBACK, "differs": "slash"}
    return with_code(world, shown, redirect_uri=sent)


@case("token.code_redirect_uri_missing")
def code_redirect_uri_missing(world):
    """Without a code challenge, nothing else binds the code."""
    code = {"verifier": None}
    return with_code(world, {"expected": CALLBACK}, code=code, verifier=None, redirect_uri=None)


@case("token.code_session_ended")
def code_session_ended(world):
    def change(site, _app):
        with site.db() as db:
            db.query(BrowserSession).delete()

    return with_code(world, NONE, change=change)


@case("token.code_session_expired")
def code_session_expired(world):
    return with_changed(world, BrowserSession, expires_at=ago(seconds=1))


@case("token.code_provider_expired")
def code_provider_expired(world):
    return with_changed(world, AuthorizationCode, ends_at=ago(seconds=1))


@case("token.code_used")
def code_used(world):
    site = signed_in(world)
    app = application(site)
    code = code_of(site, app)
    codes.redeem(site, app, code)
    return redeem(world, app, code, NONE)


@case("token.code_user_ended")
def code_user_ended(world):
    return with_changed(world, User, epoch=7)


@case("token.verifier_missing")
def verifier_missing(world):
    return with_code(world, NONE, verifier=None)


@case("token.verifier_wrong")
def verifier_wrong(world):
    return with_code(world, NONE, verifier="V" * 43)


@case("token.verifier_unexpected")
def verifier_unexpected(world):
    return with_code(world, NONE, code={"verifier": None})


@case("token.confirmation")
def confirmation(world):
    return with_changed(world, User, email_verified_at=None)


@case("token.group")
def group(world):
    return with_code(
        world, NONE, change=lambda site, app: set_client(site, app, require_group="ops")
    )


@case("token.signing")
def signing(world):
    site = signed_in(world)
    app = application(site)
    code = code_of(site, app)
    with world.without_keys():
        return redeem(world, app, code, NONE)


# Parameters, grants, logins.


@case("token.grant_not_allowed")
def grant_not_allowed(world):
    return grant(world, world.site.client("personal"), NONE, grant_type="password")


@case("token.grant_unknown")
def grant_unknown(world):
    return grant(world, world.site.client("personal"), NONE, grant_type="implicit")


@case("token.parameter_missing")
def parameter_missing(world):
    shown = {"expected": "username and password"}
    return grant(world, world.site.client(), shown, grant_type="password", username="ann")


def log_in(world, shown, keys=None, **form):
    keys = keys or world.site.client()
    sent = {"username": "ann@example.com", "password": PASSWORD, **form}
    return grant(world, keys, shown, grant_type="password", **sent)


@case("token.login")
def login(world):
    world.site.user(confirmed=True)
    return log_in(world, NONE, password="PASSWORD-not-this")


def second_step(world, shown, **form):
    site = world.site
    add_totp(site, site.user(confirmed=True))
    keys = site.client()
    token = log_in(world, NONE, keys).answer.json["mfa_token"]
    form = {"mfa_token": token, "mfa_method": "totp", **form}
    return grant(world, keys, shown, grant_type="urn:authsite:params:oauth:grant-type:mfa", **form)


@case("token.login_ended")
def login_ended(world):
    return second_step(world, NONE, mfa_token="mt_MFA-marker", code="123456")


@case("token.mfa_method")
def mfa_method(world):
    return second_step(world, NONE, mfa_method="email", code="123456")


@case("token.proof_missing")
def proof_missing(world):
    return second_step(world, {"expected": "code"})


@case("token.proof_wrong")
def proof_wrong(world):
    return second_step(world, NONE, code="000000")


@case("token.passkeys_off")
def passkeys_off(world):
    world.another(base_url="https://192.0.2.1")
    form = {"grant_type": "urn:authsite:params:oauth:grant-type:passkey", "credential": "{}"}
    return grant(world, world.site.client(), NONE, **form)


# Scopes and resources.


@case("token.scope")
def scope(world):
    keys = world.site.client("personal", scope="notes:read", default_scope="notes:read")
    shown = {"refused": "notes:read,notes:write", "expected": "notes:read"}
    return grant(world, keys, shown, **MACHINE, scope="notes:read,notes:write")


@case("token.scope_of_group")
def scope_of_group(world):
    site = world.another(scopes="pay [groups]: Pay")
    site.user(confirmed=True)
    keys = site.client(scope="pay", default_scope="pay")
    return log_in(world, {"refused": "pay"}, keys)


@case("token.scope_of_level")
def scope_of_level(world):
    site = world.another(scopes="pay [groups]: Pay")
    in_group(site, site.user(confirmed=True).id, scopes="pay", level="aal2")
    keys = site.client(scope="pay", default_scope="pay")
    return log_in(world, {"refused": "pay", "expected": "aal2"}, keys)


@case("token.target")
def target(world):
    return grant(world, world.site.client("personal"), {"sent": MCP}, **MACHINE, resource=MCP)


@case("token.target_late")
def target_late(world):
    resource(world.site, MCP)
    return with_code(world, {"sent": MCP, "expected": "none"}, resource=MCP)


@case("token.target_other")
def target_other(world):
    return with_code(
        world, {"sent": MCP, "expected": "https://a.example/"},
        code={"audience": "https://a.example/"}, resource=MCP,
    )  # fmt: skip


# Refresh tokens.


def refresh(world, shown, change=None, *, settings=None, token=None, **form):
    """A sign-in by password, which is refreshed after ``change(site)``."""
    site = world.another(**(settings or {}))
    site.user(confirmed=True)
    keys = site.client()
    tokens = site.login(keys, **form)
    change and change(site, keys, tokens)
    return grant(
        world, keys, shown, grant_type="refresh_token",
        refresh_token=token or tokens["refresh_token"],
    )  # fmt: skip


@case("token.refresh_malformed")
def refresh_malformed(world):
    shown = {"sent": "an access token by its first letters, 16 characters"}
    return refresh(world, shown, token="at_ACCESS-marker")


@case("token.refresh_ended")
def refresh_ended(world):
    return refresh(world, NONE, lambda site, _k, tokens: site.logout(tokens["access_token"]))


@case("token.refresh_other_client")
def refresh_other_client(world):
    site = world.site
    site.user(confirmed=True)
    tokens = site.login(site.client())
    return grant(
        world,
        site.client(),
        NONE,
        grant_type="refresh_token",
        refresh_token=tokens["refresh_token"],
    )


@case("token.refresh_too_old")
def refresh_too_old(world):
    return refresh(
        world,
        NONE,
        lambda site, _k, _t: update_all(site, Family, created_at=ago(days=400)),
        settings={"family_lifetime": "30d"},
    )


@case("token.refresh_resource")
def refresh_resource(world):
    site = world.site
    site.user(confirmed=True)
    resource(site, MCP)
    keys = site.client()
    tokens = site.login(keys, resource=MCP)
    with site.db() as db:
        db.query(resources.Resource).delete()
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    return grant(world, keys, {"sent": MCP}, **form)


@case("token.refresh_reused")
def refresh_reused(world):
    def change(site, keys, tokens):
        later = site.refresh(keys, tokens["refresh_token"])
        site.refresh(keys, later["refresh_token"])

    return refresh(world, NONE, change)


@case("token.refresh_ahead")
def refresh_ahead(world):
    site = world.site
    site.user(confirmed=True)
    keys = site.client()
    tokens = site.refresh(keys, site.login(keys)["refresh_token"])
    update_all(site, Family, generation=0)
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    return grant(world, keys, NONE, **form)


@case("token.second_factor")
def second_factor(world):
    clock = world.fixture("frozen")
    site = world.another(second_factor="required", second_factor_from="2031-05-19")
    site.user(confirmed=True)
    keys = site.client()
    tokens = site.login(keys)
    clock.advance(2 * 24 * 3600)
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    return grant(world, keys, NONE, **form)
