"""The limits of sign-in codes: over them the answer is the same."""

import pytest

from authsite.platform.mail.outbox import OutboxMessage
from authsite.sign_in.methods.mail_code import codes
from tests.support.counting import watched
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, bearer

from .conftest import (
    COOKIE,
    code_in,
    prove,
    request_code,
    rows,
)


@pytest.fixture
def site(by_mail):
    return by_mail()


def test_over_the_limit_of_the_address_the_answer_is_the_same_and_no_code_is_right(site):
    for _ in range(5):
        request_code(site)
        site.new_browser()
    assert len(site.mails()) == 5
    request_code(site)
    assert site.mails() == []
    code = codes.code_of(site.app.registry["authsite"].keys, rows(site)[-1].id)
    assert prove(site, code).status_int == 422


def test_a_recognized_browser_has_a_limit_of_its_own(site):
    sign_in(site)
    submit(site, "/logout")
    for _ in range(6):
        request_code(site)
    assert len(site.mails()) == 5
    other = {"REMOTE_ADDR": "198.51.100.7"}
    site.new_browser()
    site.http.extra_environ.update(other)
    request_code(site)
    assert len(site.mails()) == 1


def test_an_address_has_a_limit_over_all_names(site):
    for number in range(20):
        request_code(site, f"nobody{number}@example.com")
    request_code(site)
    assert site.mails() == []
    # What sent no mail has used up nothing of Ann's limit.
    site.new_browser()
    site.http.extra_environ["REMOTE_ADDR"] = "198.51.100.7"
    for _ in range(6):
        request_code(site)
    assert len(site.mails()) == 5


def test_over_the_limit_of_the_address_nothing_is_written(by_mail):
    """Else a stranger could make the tables grow with one request after another."""
    site = by_mail(limits_storage="database", **{"limits.email-code-address": "3/hour"})
    keys = set()
    for number in range(8):
        with watched(site) as seen:
            request_code(site, f"nobody{number}@example.com")
        keys.add(site.http.cookies[COOKIE])
        if number >= 3:
            tables = {each.limits == {"email-code-address"} for each in seen if each.wrote}
            assert tables <= {True}
    assert len(keys) == 8  # the answer shows nothing
    assert len(rows(site)) == len(rows(site, OutboxMessage)) == 3
    assert site.http.get("/login/factor", status="*").status_int in (302, 303, 403)


def test_nor_is_a_code_that_is_mailed_again(by_mail):
    site = by_mail(limits_storage="database", **{"limits.email-code-address": "3/hour"})
    request_code(site)
    for _ in range(6):
        assert submit(site, "/login/factor/mail", page="/login/factor").status_int == 303
    assert len(rows(site, OutboxMessage)) == 3


def test_a_login_for_which_nothing_was_proved_is_recorded_once_an_hour(by_mail, frozen):
    site = by_mail()
    for number in range(4):
        request_code(site, f"nobody{number}@example.com")
    assert site.events().count("login.pending") == 1
    frozen.advance(3601)
    request_code(site)
    assert site.events().count("login.pending") == 2


def test_who_knows_the_password_leaves_the_owner_the_codes_at_a_known_address(by_mail):
    site = by_mail(unrecognized_login="code")
    sign_in(site)
    prove(site, code_in(site.mails()[0]))
    for _ in range(7):
        site.new_browser()
        site.http.extra_environ["REMOTE_ADDR"] = "198.51.100.7"
        sign_in(site)
    site.mails()
    site.new_browser()
    token = site.login(site.client())["access_token"]
    site.http.post("/v1/user/mail-code", headers=bearer(token), status=202)
    assert len(site.mails()) == 1


def test_an_old_session_leaves_a_fresh_one_its_codes(by_mail, frozen):
    site = by_mail()
    keys = site.client()
    stolen = site.login(keys)["access_token"]
    frozen.advance(660)
    elsewhere = {"REMOTE_ADDR": "198.51.100.7"}
    sent = 0
    for _ in range(8):
        site.http.post("/v1/user/mail-code", headers=bearer(stolen), extra_environ=elsewhere)
        sent += len(site.mails())
    assert sent == 5
    other = {"REMOTE_ADDR": "203.0.113.7"}
    form = keys.form(grant_type="password", username="ann@example.com", password=PASSWORD)
    fresh = site.http.post("/v1/oauth/token", form, extra_environ=other).json["access_token"]
    site.mails()  # the notice of a new device
    site.http.post("/v1/user/mail-code", headers=bearer(fresh), extra_environ=other, status=202)
    assert len(site.mails()) == 1
