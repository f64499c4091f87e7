"""A right password in an unknown browser needs a code: `unrecognized-login`."""

import pytest

from authsite.platform.mail.outbox import OutboxMessage
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.support.mails import text_of
from tests.support.pages import sign_in, submit

from .conftest import amrs, code_in, prove, rows

FACTOR = "http://localhost/login/factor"


def words_in(mail):
    return " ".join(text_of(mail).split())


@pytest.fixture(params=["on", "off"])
def site(request, by_mail):
    return by_mail(unrecognized_login="code", email_sign_in="off", limits=request.param)


def test_the_first_sign_in_needs_it_and_the_next_one_of_that_browser_does_not(site):
    assert sign_in(site, next="/account/security").headers["Location"] == FACTOR
    assert rows(site, BrowserSession) == []
    [mail] = site.mails()
    # Who caused it knows the password.
    assert "give the code to nobody, and choose a new password." in words_in(mail)
    answered = prove(site, code_in(mail))
    assert answered.headers["Location"] == "http://localhost/account/security"
    assert amrs(site) == [("pwd", "email")]
    assert site.mails() == []  # no notice of a new device beside the code
    submit(site, "/logout")
    assert sign_in(site).headers["Location"] == "http://localhost/account"
    site.new_browser()
    site.http.extra_environ["REMOTE_ADDR"] = "198.51.100.7"
    assert sign_in(site).headers["Location"] == FACTOR


def test_a_wrong_password_mails_nothing(site):
    assert submit(site, "/login", username="ann@example.com", password="no").status_int == 422
    assert rows(site) == []
    assert site.mails() == []


def test_a_recognized_address_needs_no_code_with_limits(by_mail):
    site = by_mail(unrecognized_login="code")
    sign_in(site)
    prove(site, code_in(site.mails()[0]))
    site.new_browser()
    assert sign_in(site).headers["Location"] == "http://localhost/account"


def test_the_code_confirms_the_address_and_leaves_the_password(by_mail):
    site = by_mail(unrecognized_login="code", confirmed=False)
    sign_in(site)
    codes = [mail for mail in site.mails() if "code" in mail["Subject"]]
    assert prove(site, code_in(codes[0])).status_int == 303
    with site.db() as db:
        ann = db.get(User, site.ann.id)
        assert ann.email_verified_at is not None
        assert (ann.epoch, ann.password_hash is None) == (site.ann.epoch, False)
    submit(site, "/logout")
    sign_in(site)


def test_over_the_limit_of_the_user_no_mail_goes_out_and_the_answer_is_the_same(by_mail):
    site = by_mail(unrecognized_login="code")
    for _ in range(6):
        assert sign_in(site).headers["Location"] == FACTOR
        site.new_browser()
    assert len(site.mails()) == 5
    with site.db() as db:
        assert db.query(OutboxMessage).count() == 6


def test_by_default_nothing_is_asked(by_mail):
    site = by_mail(email_sign_in="off")
    assert sign_in(site).headers["Location"] == "http://localhost/account"


def test_a_first_factor_that_is_required_needs_the_code_first(by_mail):
    site = by_mail(second_factor="required", email_sign_in="off", confirmed=False)
    assert sign_in(site).headers["Location"] == FACTOR
    [row] = rows(site)
    assert (row.enroll, row.amr) == (True, "pwd")
    [mail] = [each for each in site.mails() if "code" in each["Subject"]]
    prove(site, code_in(mail))
    [row] = rows(site)
    assert (row.enroll, row.amr) == (True, "pwd email")
    assert rows(site, BrowserSession) == []
    with site.db() as db:
        assert db.get(User, site.ann.id).email_verified_at is not None
