"""With a second factor set, no way in gives a session or tokens without it.

`WAYS` and `GRANT_WAYS` are complete: the views and grants that can open something are found in the
code (`sign_in_views`), so that a new one fails here until it has its way. Each way opens the
account of a user without a second factor, which shows that it is walked rightly, and nothing of a
user who has one.
"""

import json
import re
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from authsite.oauth.models import MFA_GRANT, PASSKEY_GRANT, Family
from authsite.platform.runtime import clock
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.passkeys.passkey_users import post, register, sign_in_options
from tests.providers.conftest import github, google, providers, site_of  # noqa: F401
from tests.providers.people import arrive, come_back, send
from tests.support import authorizing
from tests.support.authorizing import application
from tests.support.factors import add_totp, code_now
from tests.support.identities import linked
from tests.support.mails import link_in, text_of
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, WEB
from tests.support.walk import SETTINGS
from tests.support.walk_mfa import setting

from .sign_in_views import opening_grants, opening_views

ANN = "ann@gmail.com"
LOGIN = {"username": ANN, "password": PASSWORD}
CODE = re.compile(r"\b[A-Z]{4}-[A-Z]{4}\b")


class Way:
    """One walk: a site, and what was open before the last proof."""

    def __init__(self, site, fakes, *, enrolled):
        self.site, self.fakes, self.enrolled = site, fakes, enrolled
        self.before = None

    def user(self):
        """Ann, who has registered and confirmed the address before."""
        user = self.site.user(ANN, confirmed=True)
        self.arm()
        return user

    def arm(self):
        """From now on Ann has a second factor, if she is to have one."""
        if self.enrolled:
            with self.site.db() as db:
                user = db.scalars(select(User).where(User.email == ANN)).one()
            add_totp(self.site, user)
        self.before = self.rows()

    def rows(self):
        """Every session under its key, and every family of a user at its generation."""
        with self.site.db() as db:
            sessions = db.execute(select(BrowserSession.id, BrowserSession.key_hash))
            of_users = Family.user_id.is_not(None)
            families = db.execute(select(Family.id, Family.generation).where(of_users))
            return {*map(tuple, sessions), *map(tuple, families)}

    def opened(self):
        return self.rows() - self.before

    def mailed(self, pattern):
        """The last mail with this text: its link, and what the pattern finds in it."""
        found = [each for each in self.site.mails() if pattern.search(text_of(each))]
        return found[-1], pattern.search(text_of(found[-1]))[0]

    def link(self, fake, **more):
        """Ann's account at the provider is linked to her account here."""
        with self.site.db() as db:
            user = db.scalars(select(User).where(User.email == ANN)).one()
            given = {"issuer": fake.issuer, "subject": fake.subject, "email": ANN, **more}
            linked(db, user.id, provider=fake.name, **given)


def by_password(way):
    way.user()
    submit(way.site, "/login", **LOGIN)


def by_a_mailed_code(way):
    way.user()
    submit(way.site, "/login/email", page="/login", username=ANN)
    _, code = way.mailed(CODE)
    submit(way.site, "/login/factor", method="email", code=code)


def by_a_mailed_link(way):
    way.user()
    submit(way.site, "/login/email", page="/login", username=ANN)
    mail, _ = way.mailed(CODE)
    way.site.http.get(link_in(mail)).forms[0].submit()


def by_the_code_after_registering(way):
    submit(way.site, "/register", email=ANN, password=PASSWORD)
    way.arm()
    _, code = way.mailed(CODE)
    submit(way.site, "/register/code", page="/register?done=1", code=code)


def by_the_link_after_registering(way):
    submit(way.site, "/register", email=ANN, password=PASSWORD)
    mail, _ = way.mailed(CODE)
    way.arm()
    way.site.http.get(link_in(mail)).forms[0].submit()


def by_an_identity(way):
    way.site.user(ANN, confirmed=True)
    way.link(way.fakes["google"])
    way.arm()
    come_back(way.site, way.fakes["google"])


def by_an_identity_and_the_password(way):
    way.user()
    send(arrive(way.site, way.fakes["google"]), "/connect", password=PASSWORD)


def by_another_identity_of_a_signed_in_user(way):
    way.site.user(ANN, confirmed=True)
    way.link(way.fakes["github"], subject=str(way.fakes["github"].user["id"]))
    come_back(way.site, way.fakes["github"])
    page = arrive(way.site, way.fakes["google"])
    assert any(form.action.endswith("/join") for form in page.forms.values())
    way.arm()
    send(page, "/join")


def by_an_identity_and_the_mailbox(way):
    way.user()
    page = arrive(way.site, way.fakes["google"])
    send(page, "/mail")
    link = next(link_in(each) for each in way.site.mails() if "/login/with/" in text_of(each))
    send(way.site.http.get(link), "/recover")


def by_a_new_account(way):
    """The account is new, and cannot have a factor yet."""
    way.before = way.rows()
    send(arrive(way.site, way.fakes["google"]), "/create")


def by_the_token_endpoint(way):
    way.user()
    way.site.login(way.site.client(), ANN, status="*")


def by_a_proxy(way):
    way.site.first_party("web")
    way.user()
    way.site.http.post_json("/v1/clients/web/login", LOGIN, status="*")


def by_the_former_proxy(way):
    way.site.first_party("web")
    way.user()
    way.site.http.post_json("/v1/clients/web/users/login", LOGIN, status="*")


def by_the_mailed_code_of_a_proxy(way):
    """A code is asked for in an unknown browser; it does not count as a second factor."""
    way.site.first_party("web")
    way.user()
    with setting(way.site, unrecognized_login="code"):
        asked = way.site.http.post_json("/v1/clients/web/login", LOGIN, status=400).json
        way.site.http.post_json("/v1/mfa/email", {"mfa_token": asked["mfa_token"]}, status="*")
        given = {"mfa_token": asked["mfa_token"], "mfa_method": "email", "code": a_code(way)}
        way.site.http.post_json("/v1/clients/web/mfa", given, status="*")


def by_the_mailed_code_of_a_client(way):
    keys = way.site.client()
    way.user()
    with setting(way.site, unrecognized_login="code"):
        asked = way.site.login(keys, ANN, status=400)
        way.site.http.post_json("/v1/mfa/email", {"mfa_token": asked["mfa_token"]}, status="*")
        given = {"mfa_token": asked["mfa_token"], "mfa_method": "email", "code": a_code(way)}
        way.site.token(keys, "*", grant_type=MFA_GRANT, **given)


def a_code(way):
    """The code in the last mail; nonsense if there is none."""
    found = [CODE.search(text_of(each)) for each in way.site.mails()]
    return next((each[0] for each in reversed(found) if each), "WDJB-MJHT")


def by_a_code_for_an_application(way):
    app = application(way.site, pkce_optional=True)
    way.user()
    answer = authorizing.authorize(way.site, app)
    page = authorizing.log_in(way.site, answer, ANN)
    if 'value="allow"' in page.text:
        code = authorizing.answer_of(authorizing.press(way.site, page))["code"]
        authorizing.redeemed(way.site, app, code)


WAYS = {
    ("authsite.login.page", "POST"): by_password,
    ("authsite.login.factor", "POST"): by_a_mailed_code,
    ("authsite.login.code", "POST"): by_a_mailed_link,
    ("authsite.register.code", "POST"): by_the_code_after_registering,
    ("authsite.verify.page", "POST"): by_the_link_after_registering,
    ("authsite.provider.return", "GET"): by_an_identity,
    ("authsite.provider.connect", "POST"): by_an_identity_and_the_password,
    ("authsite.provider.join", "POST"): by_another_identity_of_a_signed_in_user,
    ("authsite.provider.recover", "POST"): by_an_identity_and_the_mailbox,
    ("authsite.oauth.token", "POST"): by_the_token_endpoint,
    ("authsite.proxy.login", "POST"): by_a_proxy,
    ("authsite.proxy.users_login", "POST"): by_the_former_proxy,
    ("authsite.proxy.mfa", "POST"): by_the_mailed_code_of_a_proxy,
}
"""What each view that can open something does with a first proof."""
PASSKEY_WAYS = {("authsite.login.passkey", "POST"), ("authsite.proxy.passkey", "POST")}
"""A passkey that has verified the user is two factors; see the test of one that has not."""
NEW_USERS = {("authsite.provider.create", "POST")}
ONLY_OPTIONS = {
    ("authsite.passkeys.options", "POST"),
    ("authsite.proxy.passkey_options", "POST"),
}
"""They look a grant up, and give a challenge."""
GRANT_WAYS = {
    "password": by_the_token_endpoint,
    "authorization_code": by_a_code_for_an_application,
    MFA_GRANT: by_the_mailed_code_of_a_client,
    PASSKEY_GRANT: None,
}


@pytest.fixture
def place(site_of, google, github):  # noqa: F811
    """A site where every way is on, and its providers."""
    github.emails[-1]["email"] = ANN
    fakes = {"google": google, "github": github}
    given = {name: value for name, value in SETTINGS.items() if not name.startswith("limits")}
    return site_of(*fakes.values(), **given), fakes


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
    "walked", filter(None, GRANT_WAYS.values()), ids=lambda each: each.__name__
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
