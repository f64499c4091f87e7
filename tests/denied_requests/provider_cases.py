"""Ways to a provider that end: one request for each reason; the page tells the person none."""

import itertools
import time
from contextlib import contextmanager
from uuid import UUID

from tests.providers.conftest import settings_of
from tests.providers.people import arrive, go, send
from tests.providers.test_linking import confirm, link, person_of
from tests.providers.test_new_identity import mailed_link
from tests.sign_in.provider.test_way import changed
from tests.support.fake_provider import fake_provider, key
from tests.support.identities import linked
from tests.support.pages import sign_in, submit

from .cases import Denied, case
from .login_cases import HOME
from .token_cases import NONE

NUMBERS = itertools.count(1)
"""A process keeps discovery and keys of a provider for an hour: each name is new."""


@contextmanager
def at(world, preset="oidc", **settings):
    with fake_provider(preset, f"{preset}{next(NUMBERS)}") as fake:
        yield world.another(**HOME, **settings_of([(fake, settings)])), fake


def way(world, prepare=None, back=None, preset="oidc", shown=NONE, **settings):
    """There and back; ``prepare(fake)`` before, ``back(url)`` is the return in place of ``url``."""
    with at(world, preset, **settings) as (site, fake):
        if prepare:
            prepare(fake)
        url = fake.authorize(go(site, fake.name))
        return Denied(site.http.get(back(url) if back else url, status="*"), shown)


def claims(**values):
    return lambda fake: fake.claims.update(values)


def fault(path, status=200, body=None, **headers):
    return lambda fake: fake.faults.update({path: lambda _: (status, headers, body or {})})


def setting(**values):
    return lambda fake: vars(fake).update(values)


@case("provider.discovery")
def discovery(world):
    with at(world) as (site, fake):
        fake.discovery = {"issuer": "https://other.example"}
        return Denied(submit(site, f"/login/with/{fake.name}"), NONE)


OTHER_CODE = {"error": "invalid_grant"}
WAYS = {
    "access_token": {"prepare": fault("/token", body={"access_token": "", "id_token": "a.b.c"})},
    "algorithm": {"prepare": lambda fake: fake.sign_with("PS256"), "shown": {"sent": "PS256"}},
    "at_hash": {"prepare": claims(at_hash="77QmUPtjPfzWtF2AnpK9RQ")},
    "audience": {
        "prepare": claims(aud="another-client"),
        "shown": {"sent": "aud=another-client", "expected": "our-client"},
    },
    "canceled": {"prepare": setting(return_error="access_denied")},
    "code": {"prepare": fault("/token", 400, OTHER_CODE)},
    "domain": {
        "prepare": claims(hd="other.example"),
        "preset": "google",
        "domains": "corp.example",
        "shown": {"sent": "other.example", "expected": "corp.example"},
    },
    "expired": {"prepare": claims(exp=None)},
    "id_token": {"prepare": setting(forge=lambda _fake: "a.b.c")},
    "issued_at": {"prepare": claims(iat=None)},
    "issuer": {"prepare": claims(iss="https://accounts.google.com")},
    "key": {"prepare": fault("/keys", body={"keys": []})},
    "no_code": {"back": lambda url: changed(url, code=None)},
    "nonce": {"prepare": claims(nonce="of-another-start")},
    "nonce_missing": {"prepare": claims(nonce=None)},
    "not_before": {"prepare": claims(nbf="now")},
    "other_provider": {"back": lambda url: changed(url, iss="https://attacker.example")},
    "profile": {"prepare": fault("/userinfo", 401)},
    "profile_subject": {"prepare": setting(profile={"sub": "of-another"})},
    "provider_busy": {"prepare": setting(return_error="server_error")},
    "provider_error": {
        "prepare": setting(return_error="consent_required"),
        "shown": {"error": "consent_required"},
    },
    "registration_closed": {"preset": "google", "create": "off"},
    "signature": {"prepare": setting(signing_key=key("k2"), header={"kid": "k1"})},
    "state": {"back": lambda url: changed(url, state="A")},
    "subject": {"prepare": claims(sub="s" * 256)},
    "subject_type": {"prepare": claims(sub=12)},
    "tenant": {
        "preset": "microsoft",
        "prepare": claims(tid="00000000-0000-0000-0000-000000000001"),
    },
    "token": {"prepare": fault("/token", 401, {"error": "invalid_client"})},
    "token_type": {"prepare": setting(header={"typ": "at+jwt"}), "shown": {"sent": "at+jwt"}},
    "unreachable": {"prepare": fault("/token", 500)},
}
DOUBTS = {
    "no_address": claims(email=None),
    "not_said": claims(email_verified=None),
    "not_trusted": claims(),
    "unverified": claims(email_verified=False),
}


def add_cases():
    for name, given in WAYS.items():
        case(f"provider.{name}")(lambda world, given=given: way(world, **given))
    for name, prepare in DOUBTS.items():
        case(f"provider_address.{name}")(lambda world, prepare=prepare: way(world, prepare))


add_cases()


@case("provider.used")
def used(world):
    with at(world) as (site, fake):
        url = fake.authorize(go(site, fake.name))
        site.http.get(url)
        return Denied(site.http.get(url, status="*"), NONE)


@case("provider.other_browser")
def other_browser(world):
    with at(world) as (site, fake):
        url = fake.authorize(go(site, fake.name))
        site.http.reset()
        return Denied(site.http.get(url, status="*"), NONE)


@case("provider.too_old")
def too_old(world):
    with at(world) as (site, fake):
        url = fake.authorize(go(site, fake.name))
        world.fixture("frozen").advance(600)
        return Denied(site.http.get(url, status="*"), NONE)


@case("provider.signed_out")
def signed_out(world):
    with at(world, "google") as (site, fake):
        send(arrive(site, fake), "/create")
        url = fake.authorize(go(site, fake.name, purpose="confirm"))
        submit(site, "/logout")
        return Denied(site.http.get(url, status="*"), NONE)


@case("provider.ended")
def ended(world):
    with at(world) as (site, fake):
        page = arrive(site, fake)
        return Denied(page.goto(f"{page.request.path}?key={UUID(int=0)}", status="*"), NONE)


@case("provider.link_in_other_browser")
def link_in_other_browser(world):
    with at(world) as (site, fake):
        arrive(site, fake)
        site.http.reset()
        return Denied(site.http.get(mailed_link(site), status="*"), NONE)


@case("provider.linked_to_another_user")
def linked_to_another_user(world):
    with at(world) as (site, fake):
        other, _own = site.user("bo@example.com", confirmed=True), site.user(confirmed=True)
        with site.db() as db:
            linked(db, other.id, issuer=fake.issuer, subject=fake.subject)
        sign_in(site)
        return Denied(link(site, fake), NONE)


def confirmation(world, age, prepare=None, **settings):
    """A user without a password confirms at the provider, who has proved it ``age`` seconds ago."""
    with at(world, "google", **settings) as (site, fake):
        fake.claims["hd"] = "corp.example"
        fake.claims["auth_time"] = int(time.time()) - age
        person_of(site, fake)
        if prepare:
            prepare(fake)
        return Denied(confirm(site, fake), NONE)


@case("provider.not_recent")
def not_recent(world):
    return confirmation(world, 601)


@case("provider.not_linked")
def not_linked(world):
    return confirmation(world, 0, setting(subject="another person"))


@case("provider.not_vouched_for")
def not_vouched_for(world):
    return confirmation(world, 0, claims(email_verified=False), domains="corp.example")
