"""Logins that fail, and passkeys that are refused: one request for each reason.

The caller is told none of them: the event says which it is.
"""

import json

from sqlalchemy import update

from authsite.platform.http.errors import Forbidden
from authsite.sign_in.gate import ACCOUNT_CONDITIONS, AccountCondition
from authsite.users.models import User
from tests.passkeys.passkey_users import post, register, sign_in_options
from tests.passkeys.test_api import options, proved
from tests.passkeys.test_refusals import REGISTRATIONS, USES
from tests.passkeys.test_second_factor import give_password, pending_options
from tests.support.authenticator import Authenticator, Okp
from tests.support.pages import csrf_of, submit
from tests.support.site import PASSWORD, bearer

from .cases import Denied, case
from .token_cases import NONE, grant, set_client

HOME = {"base_url": "http://localhost"}
"""Where a browser of the tests opens the pages."""


def login(world, name="ann@example.com", password=PASSWORD, shown=NONE):
    return Denied(submit(world.site, "/login", username=name, password=password), shown)


def with_user(world, **settings):
    world.another(**HOME, **settings)
    return world.site.user(confirmed=True)


def disable(world):
    with world.site.db() as db:
        db.execute(update(User).values(disabled_at=User.created_at))


@case("login.wrong_password")
def wrong_password(world):
    with_user(world)
    return login(world, password="wrong")


@case("login.unknown_name")
def unknown_name(world):
    world.another(**HOME)
    return login(world)


@case("login.denied")
def denied(world):
    with_user(world)

    def check(_ctx, _account):
        raise Forbidden

    conditions = ACCOUNT_CONDITIONS.of(world.site.app.registry["authsite"])
    world.monkeypatch.setitem(conditions, "test", AccountCondition(check))
    return login(world)


@case("login.disabled")
def disabled(world):
    with_user(world)
    disable(world)
    return login(world)


@case("login.locked")
def locked(world):
    with_user(world, limits="on", limits_login_account="1/hour")
    login(world, password="wrong")
    return login(world)


@case("login.unconfirmed")
def unconfirmed(world):
    asked = {"variant": "B", "require_email_confirmation": "true", "prevent_enumeration": "off"}
    world.another(**HOME, **asked)
    world.site.user()
    return login(world)


@case("login.group_missing")
def group_missing(world):
    with_user(world)
    keys = world.site.client()
    set_client(world.site, keys, require_group="ops")
    form = {"grant_type": "password", "username": "ann@example.com", "password": PASSWORD}
    return grant(world, keys, NONE, **form)


@case("login.wrong_passkey")
def wrong_passkey(world):
    return use(world, "signature")


@case("login.unknown_passkey")
def unknown_passkey(world):
    return unknown(world)


# Passkeys.


def passkey(world):
    user = with_user(world)
    return register(world.site, user)


def send(world, authenticator, shown=NONE, **wrong):
    credential = authenticator.get(sign_in_options(world.site), **wrong)
    return Denied(post(world.site, json.dumps(credential)), shown)


def use(world, name):
    wrong, sent, expected = USES[name]
    shown = {"sent": sent, "expected": expected}
    return send(world, passkey(world), {key: text for key, text in shown.items() if text}, **wrong)


def add_cases():
    for name in USES:
        if " " not in name and name != "port":
            case(f"passkey.{name}")(lambda world, name=name: use(world, name))
    for name in REGISTRATIONS.keys() - USES.keys():
        case(f"passkey.{name}")(lambda world, name=name: registered(world, **REGISTRATIONS[name]))


def registering(world, **settings):
    user = with_user(world, **settings)
    headers = bearer(world.site.login(world.site.client())["access_token"])
    proved(world.site, "pwd", "email", "otp")
    return user, headers


def registered(world, **wrong):
    _user, headers = registering(world)
    made = Authenticator(Okp()).create(options(world.site, headers), **wrong)
    return sent(world, headers, made)


def sent(world, headers, made):
    path, given = "/v1/user/passkeys", {"credential": made}
    return Denied(world.site.http.post_json(path, given, headers=headers, status="*"), NONE)


add_cases()


@case("passkey.key")
def key(world):
    return registered(world, attested_id=bytes(32))


@case("passkey.taken")
def taken(world):
    _user, headers = registering(world)
    found = options(world.site, headers)
    own = Authenticator(Okp())
    sent(world, headers, own.create(found))
    proved(world.site, "pwd", "email", "otp")
    return sent(world, headers, own.create(options(world.site, headers)))


@case("passkey.changed")
def changed(world):
    _user, headers = registering(world)
    first, second = Authenticator(Okp()), Authenticator(Okp())
    made = [each.create(options(world.site, headers)) for each in (first, second)]
    sent(world, headers, made[0])
    proved(world.site, "pwd", "email", "otp")
    return sent(world, headers, made[1])


@case("passkey.none")
def none(world):
    world.another(base_url="http://127.0.0.1")  # no domain
    answer = submit(world.site, "/login/passkey", page="/login", credential='{"id": "YWJj"}')
    return Denied(answer, NONE)


@case("passkey.other_user")
def other_user(world):
    site = world.another(**HOME)
    user = site.user(confirmed=True)
    register(site, user)
    others = register(site, site.user("bo@example.com", confirmed=True))
    with site.db() as db:
        asked = {"second_factor_at": user.created_at, "passkey_after_password": True}
        db.execute(update(User).where(User.id == user.id).values(asked))
    found = pending_options(site, give_password(site))
    page = site.http.get("/login/factor?method=passkey")
    form = {"csrf_token": csrf_of(page), "method": "passkey"}
    credential = json.dumps(others.get(found))
    answer = site.http.post("/login/factor", {**form, "credential": credential}, status="*")
    return Denied(answer, NONE)


@case("passkey.unknown")
def unknown(world):
    own = passkey(world)
    stranger = Authenticator()
    stranger.handle = own.handle
    return send(world, stranger)


@case("passkey.disabled")
def disabled_user(world):
    own = passkey(world)
    disable(world)
    return send(world, own)


@case("passkey.replayed")
def replayed(world):
    own, site = passkey(world), world.site
    credential = json.dumps(own.get(sign_in_options(site)))
    post(site, credential)
    keep = dict(site.http.cookies)
    site.new_browser()
    site.http.set_cookie("authsite-csrf", keep["authsite-csrf"].strip('"'))
    return Denied(post(site, credential), NONE)


@case("passkey.counter")
def counter(world):
    user = with_user(world)
    own = register(world.site, user, Authenticator(synced=False, counts=True), counter=9)
    return send(world, own, {"sent": "9", "expected": "more than 9"}, counter=9)


@case("passkey.uv_not_initialized")
def uv_not_initialized(world):
    user = with_user(world)
    return send(world, register(world.site, user, unverified=True))
