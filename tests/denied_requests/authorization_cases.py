"""The authorization endpoint: one request for each reason."""

from contextlib import contextmanager, nullcontext
from datetime import timedelta
from urllib.parse import unquote

from sqlalchemy import update

from authsite.platform.http.outbound import UNTRUSTED
from authsite.platform.runtime import clock
from authsite.platform.stored_requests import StoredRequest
from authsite.users.groups.labels import Group
from tests.documents.conftest import ALL
from tests.support.authorizing import (
    BASE,
    CALLBACK,
    Application,
    application,
    authorize,
    parameters,
    sign_in,
    target_of,
)
from tests.support.documents import described
from tests.support.members import in_group

from .cases import Denied, case

NONE = {}


def denied(world, shown, *, app=None, **changed):
    app = app or application(world.site)
    return Denied(authorize(world.site, app, **changed), shown)


def simple(name, shown, **changed):
    """A reason that one parameter decides."""
    case(f"authorization.{name}")(lambda world: denied(world, shown, **changed))


simple("client_missing", NONE, client_id=None)
simple("client_unknown", {"sent": "nobody"}, client_id="nobody")
simple(
    "redirect_uri_mismatch",
    {"sent": f"{CALLBACK}/", "nearest": CALLBACK, "differs": "slash"},
    redirect_uri=f"{CALLBACK}/",
)
simple("redirect_uri_missing", {"registered": "1"}, redirect_uri=None)
simple("challenge", {"sent": "5 characters"}, code_challenge="short")
simple("challenge_method", {"sent": "plain", "expected": "S256"}, code_challenge_method="plain")
simple("challenge_missing", NONE, code_challenge=None, code_challenge_method=None)
simple("challenge_lost", {"sent": "code_challenge_method=S256 alone"}, code_challenge=None)
simple(
    "id_token_hint",
    {"sent": "a JSON Web Token by its first letters, 5 characters"},
    id_token_hint="eyJ.a",
)
simple(
    "invalid_value",
    {"parameter": "max_age", "sent": "soon", "expected": "a number of seconds"},
    max_age="soon",
)
simple(
    "value_too_long",
    {"parameter": "nonce", "sent": "600 characters", "expected": "at most 512 characters"},
    nonce="n" * 600,
)
simple("prompt_none", {"sent": "none login"}, prompt="none login")
simple("request_object", NONE, request="eyJhbGciOiJub25lIn0.e30.")
simple("request_uri", NONE, request_uri="https://app.example.org/r")
simple("response_mode", {"sent": "form_post"}, response_mode="form_post")
simple("response_type", {"sent": "token", "expected": "code"}, response_type="token")
simple("response_type_missing", NONE, response_type=None)
simple("scope", {"refused": "notes:write"}, scope="email notes:write")
simple("resource", {"sent": "https://api.example.net"}, resource="https://api.example.net")
simple("too_long", {"expected": "at most 8192"}, prompt="none", x="y" * 9000)
simple("login_needed", NONE, prompt="none")


@case("authorization.acr_not_reachable")
def acr_not_reachable(world):
    world.another(factors="totp")
    return denied(world, {"sent": "phr"}, acr_values="phr")


@case("authorization.repeated")
def repeated(world):
    query = "&".join(
        f"{name}={value}" for name, value in parameters(application(world.site)).items()
    )
    url = f"{BASE}/oauth/authorize?{query}&scope=x"
    return Denied(world.site.http.get(url, status="*"), {"parameter": "scope"})


@case("authorization.malformed")
def malformed(world):
    return Denied(world.site.http.get(f"{BASE}/oauth/authorize?x=%ff", status="*"), NONE)


@case("authorization.challenge_missing_public")
def challenge_missing_public(world):
    app = application(world.site, "browser")
    return denied(world, NONE, app=app, code_challenge=None, code_challenge_method=None)


@case("authorization.too_old")
def too_old(world):
    site = world.site
    away = authorize(site, application(site), login_hint="l" * 3000)
    with site.db() as db:
        db.execute(update(StoredRequest).values(expires_at=clock.now() - timedelta(seconds=1)))
    next_ = target_of(away).partition("next=")[2]
    return Denied(site.http.get(f"{BASE}{unquote(next_)}", status="*"), NONE)


def signed_in(world, **user):
    made = world.site.user(**{"confirmed": True, **user})
    sign_in(world.site)
    return made


@case("authorization.scope_of_group")
def scope_of_group(world):
    site = world.another(scopes="payments:write [groups]: Pay")
    with site.db() as db:
        now = clock.now()
        db.add(
            Group(name="ops", title="Ops", scopes="payments:write", created_at=now, updated_at=now)
        )
    signed_in(world)
    app = application(site, scope="payments:write")
    return denied(world, {"refused": "payments:write"}, app=app, scope="payments:write")


@case("authorization.scope_of_level")
def scope_of_level(world):
    site = world.another(scopes="payments:write [groups]: Pay")
    in_group(site, signed_in(world).id, scopes="payments:write", level="aal2")
    app = application(site, scope="payments:write")
    shown = {"refused": "payments:write", "expected": "aal2"}
    return denied(world, shown, app=app, scope="payments:write")


@case("authorization.address_not_confirmed")
def address_not_confirmed(world):
    signed_in(world, confirmed=False)
    return denied(world, NONE, prompt="none")


@case("authorization.consent_needed")
def consent_needed(world):
    signed_in(world)
    return denied(world, NONE, prompt="none")


@case("authorization.group_required")
def group(world):
    signed_in(world)
    return denied(world, NONE, app=application(world.site, require_group="ops"), prompt="none")


@case("authorization.level_needed")
def level_needed(world):
    signed_in(world)
    return denied(world, NONE, prompt="none", acr_values="aal2")


@case("authorization.no_key")
def no_key(world):
    app = application(world.site)
    with world.without_keys():
        return denied(world, NONE, app=app)


def at(url):
    return Application(url, None, CALLBACK, "Notes")


@case("authorization.document_url")
def document_url(world):
    world.another(**ALL)
    url = "http://client.example/c.json"
    return denied(world, {"sent": url}, app=at(url))


def with_document(world, shown, prepare):
    world.another(**ALL)
    signed_in(world)
    with described(world.monkeypatch, world.folder) as there, prepare(there):
        return denied(world, {"document": there.url, **shown}, app=there.application)


@case("authorization.document_invalid")
def document_invalid(world):
    def prepare(there):
        there.raw = b"{"
        return nullcontext()

    return with_document(world, NONE, prepare)


@case("authorization.document_unreachable")
def document_unreachable(world):
    def prepare(there):
        there.status = 404
        return nullcontext()

    return with_document(world, NONE, prepare)


@case("authorization.document_busy")
def document_busy(world):
    @contextmanager
    def prepare(_there):
        slots = world.site.app.registry["authsite"].outbound_slots
        with slots.taken(UNTRUSTED), slots.taken(UNTRUSTED):
            yield

    return with_document(world, NONE, prepare)


@case("authorization.unavailable")
def unavailable(world):
    limits = {"limits": "on", "limits_storage": "memory", "limits.authorize-address": "1/1 hour"}
    app = application(world.another(**limits))
    wrong = {"app": app, "prompt": "none", "scope": "email nope"}
    denied(world, NONE, **wrong)
    return denied(world, NONE, **wrong)
