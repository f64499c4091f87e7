"""`domains` of a provider: what it tells at this sign-in decides, and never what it told before."""

from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from sqlalchemy import select

from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from tests.providers.people import (
    arrive,
    come_back,
    go,
    identities,
    send,
    signed_in_as,
    users,
    without_password,
)
from tests.support.fake_provider import DIRECTORY
from tests.support.in_process import Commands
from tests.support.mails import link_in, text_of
from tests.support.pages import csrf_of

ANN, DOMAIN = "ann@corp.example", "corp.example"
CHECK = "Check your e-mail"
# What each provider tells of a person whose address it has verified.
VERIFIED = {
    "oidc": {"email": ANN, "email_verified": True},
    "gitlab": {"email": ANN, "email_verified": True},
    "google": {"email": ANN, "email_verified": True, "hd": DOMAIN},
    "microsoft": {"tid": DIRECTORY, "email": ANN, "xms_edov": True},
}
# What says that the address is not verified.
UNVERIFIED = {
    "oidc": {"email_verified": False},
    "gitlab": {"email_verified": "false"},
    "google": {"email_verified": False},
    "microsoft": {"xms_edov": "0"},
}


def told(fake, **claims):
    fake.claims = {**VERIFIED[fake.preset], **claims}


@pytest.fixture
def site_for(site_of, providers):
    """``site_for("oidc")``: the site and the provider, whose person has an account, signed out."""

    def make(preset, **keys):
        fake = providers(preset)
        keys = {"domains": DOMAIN, "trust-email": "on", "domain-authority": "on", **keys}
        site = site_of((fake, keys))
        if preset == "github":
            fake.emails = [{"email": ANN, "primary": True, "verified": True}]
        else:
            told(fake)
        assert send(arrive(site, fake), "/create").status_int == 303
        assert [each.trusted for each in identities(site)] == [True]
        site.http.reset()
        return site, fake

    return make


def heading(page):
    return page.html.h1.get_text()


def mailed(site):
    """The links that were mailed, with the addresses."""
    mails = [each for each in site.mails() if "/login/with/" in text_of(each)]
    return [(each["To"], link_in(each)) for each in mails]


def last_event(site, name):
    with site.db() as db:
        found = select(AuditEvent).where(AuditEvent.event == name).order_by(AuditEvent.id.desc())
        return db.scalars(found).first()


@pytest.mark.parametrize("preset", ["oidc", "gitlab", "google", "microsoft", "github"])
def test_a_verified_address_of_them_signs_in_whatever_scope_is_answered(site_for, preset):
    site, fake = site_for(preset)
    answer = come_back(site, fake)
    assert (answer.status_int, mailed(site)) == (303, [])
    details = last_event(site, "provider.signed_in").details
    answered = {
        "google": "https://www.googleapis.com/auth/userinfo.email"
        " https://www.googleapis.com/auth/userinfo.profile openid",
        "github": "read:user,user:email",
        "microsoft": "email profile",
    }
    assert details["answered_scope"] == answered.get(preset, "openid email profile")
    assert details["asked_scope"].startswith("read:user" if preset == "github" else "openid")


@pytest.mark.parametrize("preset", UNVERIFIED)
def test_an_address_that_is_not_verified_is_proved_by_mail(site_for, preset):
    site, fake = site_for(preset)
    told(fake, **UNVERIFIED[preset])
    page = arrive(site, fake, next="/account/security")
    assert (heading(page), signed_in_as(site)) == (CHECK, None)
    event = last_event(site, "provider.address_asked")
    assert (event.details["reason"], event.user_id) == ("unverified", users(site)[0].id)
    [(address, link)] = mailed(site)
    assert address == ANN
    shown = site.http.get(link)
    assert heading(shown) == "Your address is confirmed"
    assert signed_in_as(site) is None  # opening the link changes nothing
    answer = send(shown, "/enter")
    assert (answer.status_int, answer.location) == (303, "http://localhost/account/security")
    assert signed_in_as(site)
    assert site.http.get(link, status=400)
    [user] = users(site)
    assert user.epoch == 0  # not a reset: the identity was the user's before


def test_the_mailed_link_of_a_known_identity_counts_in_the_browser_that_began(site_for):
    site, fake = site_for("oidc")
    told(fake, email_verified=False)
    arrive(site, fake)
    [(_, link)] = mailed(site)
    site.http.reset()
    assert heading(site.http.get(link, status=400)) == "Open the link in the other browser"
    assert signed_in_as(site) is None


def test_the_next_sign_in_asks_again(site_for):
    site, fake = site_for("oidc")
    told(fake, email_verified=False)
    arrive(site, fake)
    send(site.http.get(mailed(site)[0][1]), "/enter")
    site.http.reset()
    assert heading(arrive(site, fake)) == CHECK
    assert signed_in_as(site) is None


def test_without_an_address_the_one_that_was_proved_last_gets_a_mail(site_for, tmp_path):
    """The person may have cut `email` out of the scope in the URL of the own browser."""
    site, fake = site_for("oidc")
    fake.claims = {}
    url = go(site, fake.name)
    parts = urlsplit(url)
    query = {**dict(parse_qsl(parts.query)), "scope": "openid"}
    back = site.http.get(fake.authorize(parts._replace(query=urlencode(query)).geturl()))
    page = back.follow()
    assert (heading(page), signed_in_as(site)) == (CHECK, None)
    assert [address for address, _ in mailed(site)] == [ANN]
    details = last_event(site, "provider.address_asked").details
    assert (details["reason"], details["answered_scope"]) == ("no_address", "openid")
    request_id = back.headers["X-Request-Id"]
    explained = Commands(site, tmp_path).run("explain", request_id).stdout
    assert "told no e-mail address" in explained
    assert "asked_scope: openid email profile" in explained
    assert "answered_scope: openid\n" in explained
    # The person does not choose the mailbox.
    assert "Change" not in page.html.main.get_text()
    key = dict(parse_qsl(urlsplit(back.location).query))["key"]
    site.http.post(
        f"/login/with/{fake.name}/address",
        {"csrf_token": csrf_of(page), "key": key, "email": "boss@corp.example"},
        status=409,
    )
    assert mailed(site) == []


@pytest.mark.parametrize("preset", ["oidc", "google", "microsoft", "github"])
def test_without_an_address_one_of_other_domains_is_refused(site_for, preset):
    site, fake = site_for(preset)
    with site.db() as db:
        row = db.merge(identities(site)[0])
        row.email = "ann@private.example"
    if preset == "github":
        fake.emails = []
    else:
        told(fake, email=None, email_verified=None, xms_edov=None)
    answer = come_back(site, fake)
    assert (answer.status_int, mailed(site)) == (403, [])
    assert last_event(site, "provider.refused").details["expected"] == DOMAIN


def test_without_an_address_an_identity_whose_address_was_never_proved_is_refused(site_for):
    site, fake = site_for("oidc")
    with site.db() as db:
        db.merge(identities(site)[0]).trusted = False
    told(fake, email=None)
    assert come_back(site, fake).status_int == 403


def test_an_address_of_another_domain_is_refused(site_for):
    site, fake = site_for("oidc")
    told(fake, email="leaver@private.example")
    assert come_back(site, fake).status_int == 403
    details = last_event(site, "provider.refused").details
    assert (details["sent"], details["expected"]) == ("private.example", DOMAIN)


@pytest.mark.parametrize("preset", ["oidc", "microsoft"])
def test_silence_suffices_of_a_directory_of_these_domains(site_for, preset):
    site, fake = site_for(preset)
    told(fake, email_verified=None, xms_edov=None)
    assert come_back(site, fake).status_int == 303
    assert (mailed(site), signed_in_as(site) is None) == ([], False)


def test_silence_of_entra_does_not_outweigh_that_the_address_is_not_verified(site_for):
    site, fake = site_for("microsoft")
    told(fake, email_verified=False, xms_edov=None)
    assert heading(arrive(site, fake)) == CHECK


def test_silence_in_the_id_token_does_not_outweigh_the_profile(site_for):
    site, fake = site_for("oidc")
    told(fake, email_verified=None)
    fake.profile = {"email": ANN.upper(), "email_verified": False}
    assert heading(arrive(site, fake)) == CHECK


def test_silence_of_any_other_provider_is_proved_by_mail(site_of, providers):
    fake = providers("oidc")
    told(fake, email_verified=None)
    site = site_of((fake, {"domains": DOMAIN, "trust-email": "on"}))
    assert heading(arrive(site, fake)) == CHECK  # a new identity
    send(site.http.get(mailed(site)[0][1]), "/create")
    site.http.reset()
    assert heading(arrive(site, fake)) == CHECK  # the known one
    assert last_event(site, "provider.address_asked").details["reason"] == "not_said"


def test_silence_about_a_new_identity_is_proved_by_mail_also_of_a_directory(site_of, providers):
    fake = providers("oidc")
    told(fake, email_verified=None)
    keys = {"domains": DOMAIN, "trust-email": "on", "domain-authority": "on"}
    site = site_of((fake, keys))
    assert heading(arrive(site, fake)) == CHECK


def test_an_address_that_was_proved_by_mail_is_the_one_of_the_next_mail(site_for):
    site, fake = site_for("oidc")
    told(fake, email="ann.lee@corp.example", email_verified=False)
    arrive(site, fake)
    send(site.http.get(mailed(site)[0][1]), "/enter")
    assert identities(site)[0].email == "ann.lee@corp.example"
    assert users(site)[0].email == ANN
    site.http.reset()
    told(fake, email=None)
    arrive(site, fake)
    assert [address for address, _ in mailed(site)] == ["ann.lee@corp.example"]


def test_a_disabled_user_is_denied_after_the_mail_too(site_for):
    site, fake = site_for("oidc")
    told(fake, email_verified=False)
    arrive(site, fake)
    page = site.http.get(mailed(site)[0][1])
    with site.db() as db:
        db.merge(users(site)[0]).disabled_at = clock.now()
    assert send(page, "/enter").status_int == 422
    assert signed_in_as(site) is None


def test_it_confirms_a_sensitive_change_only_with_a_verified_address(site_for):
    site, fake = site_for("oidc")
    fake.claims["auth_time"] = int(clock.now().timestamp())
    come_back(site, fake)
    without_password(site, users(site)[0])
    assert come_back(site, fake, purpose="confirm").status_int == 303
    told(fake, email_verified=False, auth_time=int(clock.now().timestamp()))
    refused = come_back(site, fake, purpose="confirm")
    assert refused.status_int == 403
    assert last_event(site, "provider.refused").details["reason"] == "not_vouched_for"
    assert "Set a password instead" in refused.text
