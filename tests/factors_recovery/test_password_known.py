"""The notice that the password is known: after three wrong factors, once a day."""

import pytest

from authsite.sign_in.method import Wrong
from authsite.users.models import User
from tests.support import factors
from tests.support.mails import text_of
from tests.support.notices import site_of_ann
from tests.support.site import PASSWORD

DAY = 24 * 3600


@pytest.fixture(params=["on", "off"])
def site(request, site_with, frozen):
    made = site_of_ann(site_with) if request.param == "on" else site_with()
    if request.param == "off":
        made.ann = made.user(confirmed=True)
    factors.add_totp(made, made.ann)
    made.mails()
    return made


def guess(site, times=1):
    """Wrong codes, each behind the password, in another pending login."""
    for _ in range(times):
        key = factors.pending_key(site, PASSWORD)
        assert isinstance(factors.resume(site, key, "totp", code="000000"), Wrong)


def known(site):
    return [mail for mail in site.mails() if "knows your password" in mail["Subject"]]


def test_three_failures_over_several_pending_logins_mail_one_notice_a_day(site, frozen):
    guess(site, 2)
    assert known(site) == []
    guess(site)
    [mail] = known(site)
    assert "wrong second factor" in text_of(mail)
    guess(site, 5)
    assert known(site) == []
    frozen.advance(DAY + 1)
    guess(site, 2)
    assert known(site) == []
    guess(site)
    assert len(known(site)) == 1


def test_it_goes_only_to_a_confirmed_address(site):
    with site.db() as db:
        db.get(User, site.ann.id).email_verified_at = None
    guess(site, 4)
    assert site.mails() == []


def test_what_was_right_in_the_end_does_not_count(site, frozen):
    for _ in range(3):
        key = factors.pending_key(site, PASSWORD)
        factors.resume(site, key, "totp", code="000000")
        frozen.advance(60)
        factors.resume(site, key, "totp", code=factors.code_now())
    assert known(site) == []


def test_a_code_in_the_request_with_the_password_counts_alike(site):
    keys = site.client()
    form = {"grant_type": "password", "username": "ann@example.com", "password": PASSWORD}
    for mails in (0, 0, 1, 0):
        site.token(keys, 400, **form, otp="000000")
        assert len(known(site)) == mails
