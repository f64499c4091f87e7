"""Sign in by mail at an account that never confirmed its address."""

from datetime import timedelta

import pytest

from authsite.oauth.models import Family, PersonalToken
from authsite.platform.runtime import clock
from authsite.users.models import User
from tests.support.factors import add_totp, left
from tests.support.mails import text_of
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD

from .conftest import (
    amrs,
    code_in,
    prove,
    request_code,
    rows,
)

pytestmark = pytest.mark.both_databases  # PostgreSQL refuses texts that are too long


@pytest.mark.parametrize("variant", [{}, {"variant": "B", "require_email_confirmation": "true"}])
def test_at_an_account_that_was_never_confirmed_it_confirms_and_acts_as_a_reset(by_mail, variant):
    """Who has registered the address of another person keeps nothing."""
    site = by_mail(confirmed=False, **variant)
    before = site.ann
    if not variant:
        thief = site.client()
        tokens = site.login(thief)
        sign_in(site)
        site.new_browser()
    request_code(site)
    mail = site.mails()[-1]
    assert "never confirmed" in text_of(mail)
    assert prove(site, code_in(mail)).status_int == 303
    with site.db() as db:
        ann = db.get(User, before.id)
        assert ann.email_verified_at is not None
        assert ann.password_hash is None
        assert (ann.epoch, ann.recovery_version) == (before.epoch + 1, before.recovery_version + 1)
        assert db.query(PersonalToken).filter(PersonalToken.revoked_at.is_(None)).all() == []
        if not variant:
            [family] = db.query(Family).all()
            assert family.user_epoch == before.epoch  # ended
    site.http.get("/account", status=200)
    assert amrs(site)[-1] == ("email",)
    assert "user.confirmed" in site.events()
    if not variant:
        form = thief.form(grant_type="refresh_token", refresh_token=tokens["refresh_token"])
        site.token(thief, status=400, **form)
    site.new_browser()
    assert submit(site, "/login", username="ann@example.com", password=PASSWORD).status_int == 422


def test_a_first_factor_that_is_required_follows_the_code_also_of_a_new_account(by_mail):
    """The recovery raises the epoch, and the login goes on with the new one."""
    site = by_mail(confirmed=False, second_factor="required")
    request_code(site)
    mail = [each for each in site.mails() if "code" in each["Subject"]][-1]
    answered = prove(site, code_in(mail))
    assert answered.headers["Location"] == "http://localhost/login/factor"
    [row] = rows(site)
    assert row.amr == "email"
    with site.db() as db:
        ann = db.get(User, site.ann.id)
        assert (row.user_epoch, ann.password_hash) == (ann.epoch, None)
    assert "/login/factor" in site.http.get("/login/factor", status=200).text


def test_a_factor_that_the_code_removes_is_not_asked_for(by_mail):
    """To confirm the address recovers the account, which ends what was added shortly before."""
    site = by_mail()
    add_totp(site, site.ann)
    with site.db() as db:
        db.get(User, site.ann.id).email_verified_at = None
    site.mails()
    request_code(site)
    answered = prove(site, code_in(site.mails()[-1]))
    assert answered.headers["Location"] == "http://localhost/account"
    assert set(left(site, site.ann).values()) == {0}
    site.http.get("/account", status=200)
    assert amrs(site)[-1] == ("email",)


def test_a_factor_that_the_code_leaves_is_asked_for(by_mail):
    site = by_mail()
    add_totp(site, site.ann)
    with site.db() as db:
        row = db.get(User, site.ann.id)
        row.email_verified_at, row.factors_since = None, clock.now() - timedelta(days=8)
    site.mails()
    request_code(site)
    answered = prove(site, code_in(site.mails()[-1]))
    assert answered.headers["Location"] == "http://localhost/login/factor"
    assert "code" in answered.follow().text
    site.http.get("/account", status=302)
