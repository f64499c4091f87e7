"""A known identity signs its user in, as far as account, gate and settings allow."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import amr_of
from authsite.sign_in.pending import PendingLogin
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.providers.people import arrive, come_back, identities, send, signed_in_as, users
from tests.sign_in.two_steps import add_second_step, prove
from tests.support.pages import submit
from tests.support.site import PASSWORD

NAME = "Ann Example"


def registered(site, fake):
    """The site, where the person of the provider has an account; in another browser."""
    assert send(arrive(site, fake), "/create").status_int == 303
    site.http.reset()
    return site


def session(site):
    """The newest browser session."""
    with site.db() as db:
        return db.scalars(select(BrowserSession).order_by(BrowserSession.used_at.desc())).first()


def test_its_user_signs_in_and_comes_to_the_page_that_they_wanted(site_of, google):
    site = registered(site_of(google), google)
    answer = come_back(site, google, next="/account/security", remember="1")
    assert (answer.status_int, answer.location) == (303, "http://localhost/account/security")
    assert NAME in signed_in_as(site)
    row, [identity] = session(site), identities(site)
    assert (row.identity_id, row.remember, amr_of(row.facts)) == (
        identity.id,
        True,
        ("idp", "undated"),
    )
    assert identity.used_at is not None
    assert site.events()[-2:] == ["provider.signed_in", "session.begun"]


@pytest.mark.parametrize(("age", "expected"), [(7200, 7200), (-30, 0), (None, 0)])
def test_the_time_of_the_proof_is_the_providers_and_never_in_the_future(
    site_of, google, age, expected
):
    google.claims["auth_time"] = None if age is None else int(time.time()) - age
    site = registered(site_of(google), google)
    come_back(site, google)
    row = session(site)
    assert abs((clock.now() - row.auth_at).total_seconds() - expected) < 5
    assert row.auth_at <= datetime.now(UTC)
    assert clock.now() - row.used_at < timedelta(seconds=5)
    assert amr_of(row.facts) == (("idp", "undated") if age is None else ("idp",))


def test_its_sessions_end_after_session_expires_in_also_with_keep_me_signed_in(site_of, google):
    hour = timedelta(hours=1)
    site = registered(site_of((google, {"session-expires-in": "1h"})), google)
    come_back(site, google, remember="1")
    assert session(site).expires_at - session(site).used_at == hour


def test_a_disabled_user_sees_the_page_of_a_wrong_password(site_of, google):
    site = registered(site_of(google), google)
    with site.db() as db:
        db.get(User, users(site)[0].id).disabled_at = clock.now()
    answer = come_back(site, google)
    wrong = submit(site, "/login", username="ann@gmail.com", password="not this one")
    assert answer.status_int == wrong.status_int == 422
    text = answer.html.select_one(".summary").get_text()
    assert text == wrong.html.select_one(".summary").get_text()
    with site.db() as db:
        [first, _] = db.scalars(select(AuditEvent).where(AuditEvent.event == "login.failed"))
        assert first.details == {"reason": "disabled"}


def test_an_unconfirmed_account_is_denied_where_confirmation_is_required(site_of, google):
    site = registered(site_of(google, variant="B", require_email_confirmation="true"), google)
    with site.db() as db:
        db.get(User, users(site)[0].id).email_verified_at = None
    answer = come_back(site, google)
    assert (answer.status_int, signed_in_as(site)) == (422, None)
    assert "Confirm your e-mail address first" in answer.text


def test_a_second_factor_is_asked_as_after_a_password(host_of, google):
    site = host_of(add_second_step, google)
    user = site.user("ann@gmail.com", confirmed=True)
    answer = send(arrive(site, google), "/connect", password=PASSWORD)
    assert answer.location == "http://localhost/word"
    answer = come_back(site, google, next="/account")
    assert answer.location == "http://localhost/word"
    assert signed_in_as(site) is None
    with site.db() as db:
        [amr] = {row.amr for row in db.scalars(select(PendingLogin))}
        assert amr == "idp undated"
    assert prove(site).status_int == 303
    row = session(site)
    assert (row.user_id, amr_of(row.facts)) == (user.id, ("idp", "undated", "otp"))
    assert row.identity_id == identities(site)[0].id
