"""With a second factor set, no way in gives a session or tokens without it.

`WAYS` and `GRANT_WAYS` are complete: the views and grants that can open something are found in the
code (`sign_in_views`), so that a new one fails here until it has its way. Each way opens the
account of a user without a second factor, which shows that it is walked rightly, and nothing of a
user who has one.
"""

import json
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from authsite.oauth.models import DEVICE_GRANT, MFA_GRANT, PASSKEY_GRANT, Family
from authsite.platform.runtime import clock
from authsite.users.models import User
from tests.passkeys.passkey_users import post, register, sign_in_options
from tests.providers.conftest import github, google, providers, site_of  # noqa: F401
from tests.providers.people import arrive, send
from tests.support import authorizing
from tests.support.factors import code_now
from tests.support.mails import link_in, text_of
from tests.support.pages import sign_in, submit
from tests.support.site import WEB
from tests.support.walk import SETTINGS

from .sign_in_views import opening_grants, opening_views
from .ways import (
    ANN,
    Way,
    by_a_code_for_an_application,
    by_a_mailed_code,
    by_a_mailed_link,
    by_a_new_account,
    by_a_proxy,
    by_an_identity,
    by_an_identity_and_the_mailbox,
    by_an_identity_and_the_password,
    by_an_identity_whose_domain_the_mailbox_proves,
    by_another_identity_of_a_signed_in_user,
    by_password,
    by_the_code_after_registering,
    by_the_former_proxy,
    by_the_link_after_registering,
    by_the_mailed_code_of_a_client,
    by_the_mailed_code_of_a_proxy,
    by_the_token_endpoint,
)

WAYS = {
    ("authsite.login.page", "POST"): by_password,
    ("authsite.login.factor", "POST"): by_a_mailed_code,
    ("authsite.login.code", "POST"): by_a_mailed_link,
    ("authsite.register.code", "POST"): by_the_code_after_registering,
    ("authsite.verify.page", "POST"): by_the_link_after_registering,
    ("authsite.provider.return", "GET"): by_an_identity,
    ("authsite.provider.connect", "POST"): by_an_identity_and_the_password,
    ("authsite.provider.join", "POST"): by_another_identity_of_a_signed_in_user,
    ("authsite.provider.enter", "POST"): by_an_identity_whose_domain_the_mailbox_proves,
    ("authsite.provider.recover", "POST"): by_an_identity_and_the_mailbox,
    ("authsite.oauth.token", "POST"): by_the_token_endpoint,
    ("authsite.proxy.login", "POST"): by_a_proxy,
    ("authsite.proxy.users_login", "POST"): by_the_former_proxy,
    ("authsite.proxy.mfa", "POST"): by_the_mailed_code_of_a_proxy,
}
"""What each view that can open something does with a first proof."""
PASSKEY_WAYS = {("authsite.login.passkey", "POST"), ("authsite.proxy.passkey", "POST")}
"""A passkey that has verified the user is two factors; see the test of one that has not."""
NEW_USERS = {("authsite.provider.create", "POST"), ("authsite.invitation.page", "POST")}
"""They sign a new user in; an account that is there opens nothing (tests/invitations)."""
ONLY_OPTIONS = {
    ("authsite.passkeys.options", "POST"),
    ("authsite.proxy.passkey_options", "POST"),
}
"""They look a grant up, and give a challenge."""
GRANT_WAYS = {
    "password": by_the_token_endpoint,
    "authorization_code": by_a_code_for_an_application,
    DEVICE_GRANT: None,  # for a user who has signed in with a browser (tests/device)
    MFA_GRANT: by_the_mailed_code_of_a_client,
    PASSKEY_GRANT: None,
}


@pytest.fixture
def place(site_of, google, github, providers):  # noqa: F811
    """A site where every way is on, and its providers."""
    github.emails[-1]["email"] = ANN
    fakes = {"google": google, "github": github, "corp": providers("oidc", "corp")}
    given = {name: value for name, value in SETTINGS.items() if not name.startswith("limits")}
    corp = fakes["corp"], {"domains": "gmail.com", "trust-email": "on"}
    return site_of(google, github, corp, **given), fakes


def test_the_ways_are_all_that_there_are(place):
    site, _ = place
    known = {*WAYS, *PASSKEY_WAYS, *NEW_USERS, *ONLY_OPTIONS}
    assert opening_views(site) == known, "give the new view a way in this file"
    assert opening_grants() == GRANT_WAYS.keys(), "give the new grant a way in this file"


@pytest.mark.parametrize("walked", WAYS.values(), ids=lambda each: each.__name__)
@pytest.mark.parametrize("enrolled", [False, True])
def test_a_first_proof_opens_nothing_of_a_user_with_a_second_factor(place, walked, enrolled):
    way = Way(*place, enrolled=enrolled)
    walked(way)
    assert bool(way.opened()) is not enrolled


@pytest.mark.parametrize("enrolled", [False, True])
@pytest.mark.parametrize(
    "walked", [*filter(None, GRANT_WAYS.values())], ids=lambda each: each.__name__
)
def test_no_grant_gives_tokens_of_a_user_with_a_second_factor(site_with, walked, enrolled):
    site = site_with(**(authorizing.OPENID if walked is by_a_code_for_an_application else WEB))
    way = Way(site, {}, enrolled=enrolled)
    walked(way)
    assert bool(way.opened()) is not enrolled
    with site.db() as db:
        assert bool(db.scalars(select(Family)).all()) is not enrolled


def test_a_factor_that_stays_at_a_recovery_by_a_provider_completes_the_sign_in(place):
    way = Way(*place, enrolled=True)
    way.user()
    with way.site.db() as db:
        db.execute(update(User).values(factors_since=clock.now() - timedelta(days=8)))
    page = arrive(way.site, way.fakes["google"])
    send(page, "/mail")
    link = next(link_in(each) for each in way.site.mails() if "/login/with/" in text_of(each))
    answer = send(way.site.http.get(link), "/recover")
    assert answer.location == "http://localhost/login/factor"
    assert way.opened() == set()
    answer = submit(way.site, "/login/factor", method="totp", code=code_now())
    assert answer.status_int == 303
    assert way.opened()


def test_only_a_new_account_can_come_into_being_without_it(place):
    way = Way(*place, enrolled=False)
    by_a_new_account(way)
    assert way.opened()


@pytest.mark.parametrize("verified", [True, False])
def test_a_passkey_alone_must_have_verified_the_user(place, verified):
    site, _ = place
    keys = site.first_party("web")
    own = register(site, site.user(ANN, confirmed=True))
    way, wrong = Way(site, {}, enrolled=True), {"unverified": not verified}
    way.arm()
    post(site, json.dumps(own.get(sign_in_options(site), **wrong)))
    assert bool(way.opened()) is verified
    way.before = way.rows()
    asked = site.http.post_json("/v1/clients/web/passkey-options", {}).json
    credential = {"credential": own.get(asked, **wrong)}
    site.http.post_json("/v1/clients/web/passkey", credential, status="*")
    assert bool(way.opened()) is verified
    way.before = way.rows()
    asked = site.http.post("/v1/passkeys/options", keys.form()).json
    text = json.dumps(own.get(asked, **wrong))
    site.token(keys, "*", grant_type=PASSKEY_GRANT, credential=text)
    assert bool(way.opened()) is verified


def test_a_reset_of_the_password_opens_nothing(place):
    site, _ = place
    way, user = Way(site, {}, enrolled=True), site.user(ANN, confirmed=True)
    way.arm()
    with site.db() as db:
        db.execute(update(User).values(factors_since=None))
    body = {"email": ANN, "token": site.reset_token(user), "password": "purple wolf 77 tea"}
    site.http.post_json("/v1/password/reset", body)
    assert way.opened() == set()
    sign_in(site, ANN, "purple wolf 77 tea")
    assert way.opened() == set()
