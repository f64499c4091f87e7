"""What changes between two steps, and what a step must not tell or do."""

import pytest
from sqlalchemy import delete, event, select

from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.identities import Identity
from tests.providers.people import (
    arrive,
    come_back,
    go,
    identities,
    send,
    signed_in_as,
)
from tests.support.mails import link_in, text_of
from tests.support.pages import submit

from .test_new_identity import mailed_link

ANN = "ann@example.com"
NEW_PASSWORD = "eleven green kites"


@pytest.fixture
def gitlab(providers):
    """Its addresses are not trusted."""
    return providers("gitlab")


def test_until_the_address_is_proved_the_rating_of_a_password_does_not_tell_of_an_account(
    site_of, gitlab
):
    site = site_of(gitlab, login_identifiers="email username")
    page = arrive(site, gitlab)
    fields = {name: page.forms[0][name].value for name in ("csrf_token", "key")}
    fields["password"] = "zanzibar-tanganyika"
    before = site.http.post("/login/with/gitlab/check", fields).json
    site.user(ANN, username="zanzibar-tanganyika", confirmed=True)
    assert site.http.post("/login/with/gitlab/check", fields).json == before


def test_a_lockout_in_the_form_that_connects_an_account_mails_its_owner(site_of, providers):
    google = providers("google")
    site = site_of(google, limits="on")
    site.user("ann@gmail.com", confirmed=True)
    page = arrive(site, google)
    site.mails()
    statuses = [send(page, "/connect", password="no").status_int for _ in range(6)]
    assert statuses == [422] * 5 + [429]
    [notice] = site.mails()
    assert (notice["To"], link_in(notice)) == (
        "ann@gmail.com",
        "http://localhost/password/forgot",
    )
    assert site.events().count("login.locked") == 1


def test_head_leaves_the_return_for_get(site_of, gitlab):
    site = site_of(gitlab)
    url = gitlab.authorize(go(site, "gitlab"))
    site.http.head(url, status=200)
    assert site.mails() == []
    assert site.http.get(url, status=303)


@pytest.mark.parametrize("purpose", ["x" * 17, "x" * 3000, "Link"])
def test_each_unknown_purpose_is_the_same_error(site_of, gitlab, purpose):
    assert submit(site_of(gitlab), "/login/with/gitlab", purpose=purpose).status_int == 400


def test_a_link_that_was_mailed_before_the_owner_recovered_the_account_resets_nothing(
    site_of, gitlab
):
    """Reading the mailbox for a moment must not open the account again afterwards."""
    site = site_of(gitlab)
    site.user(ANN, confirmed=True)
    arrive(site, gitlab)
    link = mailed_link(site)
    intruder = list(site.http.cookiejar)
    site.http.reset()
    submit(site, "/password/forgot", email=ANN)
    [mail] = [each for each in site.mails() if "/login/with/" not in text_of(each)]
    page = site.http.get(link_in(mail))
    form = next(each for each in page.forms.values() if "password" in each.fields)
    form["password"] = NEW_PASSWORD
    if "password_confirmation" in form.fields:
        form["password_confirmation"] = NEW_PASSWORD
    assert form.submit(status="*").status_int == 303
    site.http.reset()
    for cookie in intruder:
        site.http.cookiejar.set_cookie(cookie)
    answer = send(site.http.get(link), "/recover")
    assert answer.status_int == 409
    assert identities(site) == []
    assert submit(site, "/login", username=ANN, password=NEW_PASSWORD).status_int == 303


def test_domains_are_asked_of_the_address_that_was_entered_too(site_of, gitlab):
    """What an untrusted provider tells may be free text; the mailbox is what is proved."""
    gitlab.claims["email"] = "anyone@corp.example"
    site = site_of((gitlab, {"domains": "corp.example"}))
    page = arrive(site, gitlab)
    key = page.forms[0]["key"].value
    site.mails()
    other = site.http.get(f"/login/with/gitlab/account?key={key}&other=1")
    assert send(other, "/address", email="ann@evil.example").status_int == 422
    assert site.mails() == []
    assert send(other, "/address", email="ann@corp.example").status_int == 303


def test_a_sign_in_does_not_outlive_the_identity_that_is_removed_at_the_same_time(
    site_of, providers
):
    google = providers("google")
    site = site_of(google)
    send(arrive(site, google), "/create")
    with site.db() as db:
        db.execute(delete(BrowserSession))
    site.http.reset()
    url = google.authorize(go(site, "google"))

    begun = []

    def unlink(_connection):
        begun.append(True)
        if len(begun) == 2:  # the first one uses the state up, the second one signs in
            with site.database.autocommit.connect() as connection:
                connection.execute(delete(Identity))

    event.listen(site.database.transactional, "engine_connect", unlink)
    try:
        answer = site.http.get(url, status="*")
    finally:
        event.remove(site.database.transactional, "engine_connect", unlink)
    assert identities(site) == []
    with site.db() as db:
        assert db.scalars(select(BrowserSession)).all() == []
    assert answer.status_int < 500
    assert signed_in_as(site) is None


def test_a_provider_with_another_name_takes_its_identities_over(site_of, providers):
    """Who the person is depends on issuer and subject; the limits are those of the new name."""
    google = providers("google")
    site = site_of(google)
    send(arrive(site, google), "/create")
    google.name = "work"
    site = site_of((google, {"preset": "google", "session_expires_in": "10m"}), empty=False)
    assert come_back(site, google).status_int < 400
    [identity] = identities(site)
    assert identity.provider == "work"
    with site.db() as db:
        newest = select(BrowserSession).order_by(BrowserSession.created_at.desc())
        row = db.scalars(newest).first()
    assert (row.expires_at - row.created_at).total_seconds() <= 600
