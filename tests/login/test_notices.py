"""Notices by mail: a sign-in from a new device, failed logins, a copied token."""

from datetime import timedelta

import pytest

from authsite.platform.audit.models import AuditEvent
from authsite.users.models import User
from tests.support.mails import html_of, link_in, text_of
from tests.support.notices import arrive, site_of_ann, token_sign_in
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, WEB


@pytest.fixture
def site(site_with, frozen):
    return site_of_ann(site_with)


def test_a_new_device_is_one_mail_with_a_link_and_a_known_one_is_none(site):
    [mail] = arrive(site)
    assert mail["To"] == "ann@example.com"
    for content in (text_of(mail), html_of(mail)):
        assert "Firefox on Linux" in content
        assert "203.0.113.9" in content
    assert link_in(mail).startswith("http://localhost/login/not-me/")
    sign_in_again = submit(site, "/logout")
    assert sign_in_again.status_int == 303
    sign_in(site)  # the same browser
    assert site.mails() == []
    site.http.reset()
    sign_in(site)  # another one at the same address
    assert site.mails() == []
    assert [each["Subject"] for each in arrive(site, "203.0.113.10")] == [mail["Subject"]]
    assert token_sign_in(site, "203.0.113.11")["access_token"]
    assert len(site.mails()) == 1


def test_notices_go_to_confirmed_addresses_only_and_five_a_day(site, site_with, frozen):
    site.user("eve@example.com")
    for number in range(3):
        site.try_login(
            site.keys, PASSWORD, username="eve@example.com", address=f"198.51.100.{number}"
        )
    assert site.mails() == []
    got = [len(arrive(site, f"203.0.113.{number}")) for number in range(20, 27)]
    assert got == [1] * 5 + [0] * 2
    off = site_with(limits="on", new_device_notices="off", **WEB)
    off.user(confirmed=True)
    sign_in(off)
    assert arrive(off) == []


@pytest.mark.parametrize("days", [0, 4000])
def test_the_first_login_of_an_imported_account_is_no_notice_however_old(site, frozen, days):
    bob = site.user("bob@example.com", confirmed=True)
    with site.db() as db:
        db.get(User, bob.id).created_at -= timedelta(days=days)

    def login(address):
        site.try_login(site.keys, PASSWORD, username="bob@example.com", address=address)
        return [mail["To"] for mail in site.mails()]

    assert login("198.51.100.1") == []
    assert login("198.51.100.2") == ["bob@example.com"]


def test_without_the_creation_in_the_trail_a_login_is_a_notice(site, frozen):
    bob = site.user("bob@example.com", confirmed=True)
    with site.db() as db:
        db.query(AuditEvent).filter_by(user_id=bob.id).delete()
    site.try_login(site.keys, PASSWORD, username="bob@example.com", address="198.51.100.1")
    assert [mail["To"] for mail in site.mails()] == ["bob@example.com"]


def test_failed_logins_are_one_mail_a_day_and_cost_the_same_for_an_unknown_name(site, frozen):
    def fail(name):
        for _ in range(6):
            site.try_login(site.keys, username=name)
        with site.db() as db:
            rows = db.connection().exec_driver_sql(
                "SELECT address FROM outbox WHERE letter = 'failed_logins'"
            )
            return sorted(address for (address,) in rows)

    assert fail("stranger@example.com") == ["nobody@example.invalid"]
    assert fail("ann@example.com") == ["ann@example.com", "nobody@example.invalid"]
    [mail] = site.mails()
    assert link_in(mail) == "http://localhost/password/forgot"
    frozen.advance(4 * 3600)
    fail("ann@example.com")
    assert site.mails() == []


def test_a_copied_refresh_token_is_one_mail_that_names_the_app(site, frozen):
    first = site.login(site.keys)["refresh_token"]
    second = site.refresh(site.keys, first)["refresh_token"]
    site.refresh(site.keys, second)
    frozen.advance(60)
    for _ in range(3):
        site.refresh(site.keys, first, status=400)
    [mail] = site.mails()
    assert mail["To"] == "ann@example.com"
    assert "“web”" in text_of(mail)
    assert link_in(mail) == "http://localhost/password/forgot"
