"""Each way in: what Ann gives first, and whether something of hers was open then."""

import re
from datetime import timedelta

from sqlalchemy import select, update

from authsite.oauth.models import MFA_GRANT, Family
from authsite.platform.runtime import clock
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.providers.people import arrive, come_back, send
from tests.support import authorizing
from tests.support.authorizing import application, asks_consent
from tests.support.factors import add_totp
from tests.support.identities import linked
from tests.support.mails import link_in, text_of
from tests.support.pages import submit
from tests.support.site import PASSWORD
from tests.support.walk_mfa import setting

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
    """The mailbox removes a young factor, and so this one is old."""
    way.user()
    with way.site.db() as db:
        db.execute(update(User).values(factors_since=clock.now() - timedelta(days=8)))
    page = arrive(way.site, way.fakes["google"])
    send(page, "/mail")
    link = next(link_in(each) for each in way.site.mails() if "/login/with/" in text_of(each))
    send(way.site.http.get(link), "/recover")


def by_an_identity_whose_domain_the_mailbox_proves(way):
    """The provider does not say that it has verified the address."""
    corp = way.fakes["corp"]
    corp.claims |= {"email": ANN, "email_verified": False}
    way.site.user(ANN, confirmed=True)
    way.link(corp)
    way.arm()
    assert arrive(way.site, corp).html.h1.get_text() == "Check your e-mail"
    link = next(link_in(each) for each in way.site.mails() if "/login/with/" in text_of(each))
    send(way.site.http.get(link), "/enter")


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
    if asks_consent(page):
        code = authorizing.answer_of(authorizing.press(way.site, page))["code"]
        authorizing.redeemed(way.site, app, code)
