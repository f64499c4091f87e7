"""Mails within limits: no one can use up another person's mails, or flood their mailbox."""

import pytest

from tests.support import mails
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, bearer

B = {"variant": "B", "require_email_confirmation": "true", "limits": "on"}
PAGE = "http://localhost/email/verify"
NOTIFICATION = "/v1/email/verification-notification"


def forgot(site, address="192.0.2.1", email="ann@example.com", **headers):
    path = "/v1/password-forgot" if site.cfg.variant == "B" else "/v1/password/forgot"
    body = {"email": email, "reset_url": "http://localhost/password/reset"}
    return site.http.post_json(
        path, body, headers=headers, status="*", extra_environ={"REMOTE_ADDR": address}
    )


def without_token(site, email="ann@example.com", address="198.51.100.1"):
    environ = {"REMOTE_ADDR": address}
    return site.http.post_json(
        NOTIFICATION, {"email": email}, status="*", extra_environ=environ
    ).status_int


def with_token(site, token):
    body = {"verification_url": PAGE}
    return site.http.post_json(NOTIFICATION, body, headers=bearer(token), status="*").status_int


def change_email(site, token, email):
    body = {"email": email, "current_password": PASSWORD}
    answer = site.http.put_json("/v1/user/email", body, headers=bearer(token), status="*")
    return answer.status_int


def count_to(site, address, kind=None):
    """How many mails wait for ``address``."""
    rows = [row for row in mails.rows(site) if row.address == address]
    return len([row for row in rows if kind in (None, row.kind)])


@pytest.mark.parametrize("confirmed", [True, False])
def test_h2_asking_for_confirmation_links_leaves_the_mails_of_recovery(site_with, confirmed):
    """H2, Variant A: a stranger at /email/link does not switch password recovery off."""
    site = site_with(limits="on")
    site.user(confirmed=confirmed)
    for _ in range(8):
        assert submit(site, "/email/link", email="ann@example.com").status_int == 303
    assert count_to(site, "ann@example.com", "verification") == (0 if confirmed else 5)
    assert forgot(site).status_int == 202
    assert count_to(site, "ann@example.com", "reset") == 1


def test_h2_links_requested_without_a_token_are_limited_per_client_address(site_with):
    """H2, Variant B: the endpoint without a token counts its callers, and leaves recovery alone."""
    site = site_with(**B)
    site.user(confirmed=True)
    site.mails()
    assert [without_token(site) for _ in range(25)] == [202] * 20 + [429] * 5
    assert without_token(site, address="198.51.100.2") == 202
    for number in range(2):
        assert forgot(site, f"203.0.113.{number}").status_int == 202
    assert count_to(site, "ann@example.com", "reset") == 2


def test_h2_the_page_is_limited_per_client_address_apart_from_recovery(site_with):
    """H2: `verification-address` and `forgot-address` are two limits."""
    site = site_with(limits="on")
    seen = [submit(site, "/email/link", email=f"u{n}@example.com").status_int for n in range(22)]
    assert seen == [303] * 20 + [429] * 2
    assert forgot(site).status_int == 202


def test_h2_the_mails_of_an_address_that_is_not_registered_yet_are_not_used_up(site_with):
    """H2: mails that do not go out do not count."""
    site = site_with(limits="on")
    for number in range(8):
        forgot(site, f"198.51.100.{number}")
        submit(site, "/email/link", email="ann@example.com")
    site.user()
    forgot(site)
    submit(site, "/email/link", email="ann@example.com")
    assert count_to(site, "ann@example.com", "reset") == 1
    assert count_to(site, "ann@example.com", "verification") == 1


def test_h2_the_mail_of_a_registration_is_never_counted(site_with):
    """H2: registering draws on no limit of mails."""
    site = site_with(**B)
    for _ in range(6):
        without_token(site)
    site.user()
    assert count_to(site, "ann@example.com", "confirm") == 1
    assert without_token(site) == 202
    assert count_to(site, "ann@example.com", "confirm") == 2


def test_h2_a_recognized_address_and_browser_have_reset_mails_of_their_own(site_with):
    """H2: an attacker who uses up the mails of an address leaves those of its owner."""
    site = site_with(limits="on")
    site.user()
    keys = site.client()
    assert site.try_login(keys, PASSWORD, address="192.0.2.1").status_int == 200
    sign_in(site)
    cookie = site.http.cookies["device"]
    site.http.reset()
    for number in range(7):
        forgot(site, f"198.51.100.{number}")
    assert count_to(site, "ann@example.com", "reset") == 5
    forgot(site, "203.0.113.9")
    assert count_to(site, "ann@example.com", "reset") == 5
    forgot(site, "192.0.2.1")
    assert count_to(site, "ann@example.com", "reset") == 6
    forgot(site, "203.0.113.9", Cookie=f"device={cookie}")
    assert count_to(site, "ann@example.com", "reset") == 7


def test_h2_the_window_of_reset_mails_ends_before_their_links_expire(site_with, frozen):
    """H2: while no more mails go out, the link of an earlier one still works."""
    site = site_with(limits="on", reset_expires_in="10m")
    site.user()
    for number in range(7):
        forgot(site, f"198.51.100.{number}")
    assert count_to(site, "ann@example.com", "reset") == 5
    frozen.advance(600)
    forgot(site)
    assert count_to(site, "ann@example.com", "reset") == 6


def test_m4_one_account_sends_an_address_at_most_five_mails_an_hour(site_with, frozen):
    """M4: the change of address cannot flood a third person; the answer is the same."""
    site = site_with(limits="on")
    keys = site.client()
    tokens = []
    for name in ("ann", "bob"):
        site.user(f"{name}@example.com")
        tokens.append(site.login(keys, f"{name}@example.com")["access_token"])
    seen = [change_email(site, tokens[n % 2], "third@example.com") for n in range(12)]
    assert seen == [202] * 12
    assert count_to(site, "third@example.com") == 5
    frozen.advance(3600)
    assert change_email(site, tokens[0], "third@example.com") == 202
    assert count_to(site, "third@example.com") == 6


def test_m4_one_account_begins_at_most_eight_changes_an_hour(site_with, frozen):
    """M4: one account is not a relay for mails to ever new addresses."""
    site = site_with(limits="on")
    site.user()
    token = site.login(site.client())["access_token"]
    seen = []
    for number in range(10):
        seen.append(change_email(site, token, f"third{number}@example.com"))
        frozen.advance(60)
    assert seen == [202] * 8 + [429] * 2


def test_m4_mails_to_the_own_address_are_limited_by_the_minute_and_the_hour(site_with, frozen):
    """M4: 6 a minute and 8 an hour; what the minute refuses does not count for the hour."""
    site = site_with(limits="on")
    site.user()
    token = site.login(site.client())["access_token"]
    assert [with_token(site, token) for _ in range(20)] == [202] * 6 + [429] * 14
    frozen.advance(60)
    assert [with_token(site, token) for _ in range(4)] == [202] * 2 + [429] * 2
    frozen.advance(3600)
    assert with_token(site, token) == 202
    assert count_to(site, "ann@example.com") == 9


def test_m4_a_confirmed_address_gets_no_mail_and_counts_nothing(site_with, frozen):
    """M4: only mails that go out count."""
    site = site_with(limits="on")
    site.user(confirmed=True)
    token = site.login(site.client())["access_token"]
    assert [with_token(site, token) for _ in range(10)] == [200] * 10
    assert change_email(site, token, "new@example.com") == 202


def test_m4_the_resend_button_does_not_flood_a_pending_address(site_with, frozen):
    """M4: a pending new address may be a stranger's."""
    site = site_with(limits="on")
    site.user(confirmed=True)
    token = site.login(site.client())["access_token"]
    sign_in(site)
    for _ in range(4):
        assert change_email(site, token, "third@example.com") == 202
    frozen.advance(60)
    for _ in range(4):
        assert submit(site, "/account/email/resend", page="/account").status_int == 303
    assert count_to(site, "third@example.com") == 5


def test_a_taken_address_counts_no_mail(site_with):
    """Without `prevent-enumeration` no mail goes out, so none is counted."""
    site = site_with(limits="on")
    site.user()
    site.user("bob@example.com")
    token = site.login(site.client())["access_token"]
    assert [change_email(site, token, "bob@example.com") for _ in range(9)] == [422] * 9
    assert change_email(site, token, "free@example.com") == 202


def change_password(site, token):
    body = {"current_password": PASSWORD, "password": PASSWORD}
    site.http.put_json("/v1/user/password", body, headers=bearer(token), status=200)


@pytest.mark.parametrize(("confirmed", "mails"), [(False, 10), (True, 12)])
def test_m4_password_changes_do_not_flood_an_unconfirmed_address(site_with, confirmed, mails):
    """M4: a person who registers a foreign address cannot mail it a notice with each password."""
    site = site_with(limits="on")
    site.user(confirmed=confirmed)
    token = site.login(site.client())["access_token"]
    for _ in range(12):
        change_password(site, token)
    assert count_to(site, "ann@example.com", "password_changed") == mails


def test_m4_an_account_that_is_registered_again_has_no_new_limit(site_with, frozen):
    """M4: links and notices to an unconfirmed address count for the address."""
    site = site_with(limits="on")
    client, sent = site.client(), 0
    for number in range(3):
        site.user()
        token = site.login(client)["access_token"]
        for _ in range(4):
            assert with_token(site, token) == 202
        assert change_email(site, token, f"new{number}@example.com") == 202
        sent += count_to(site, "ann@example.com")
        site.http.delete_json(
            "/v1/user", {"current_password": PASSWORD}, headers=bearer(token), status=204
        )
        frozen.advance(60)
    assert sent == 10


def test_m4_the_resend_button_does_not_flood_an_unconfirmed_address(site_with, frozen):
    """M4: the button on the account page draws on the same limit as the endpoint."""
    site = site_with(limits="on")
    site.user()
    token = site.login(site.client())["access_token"]
    sign_in(site)
    for _ in range(6):
        change_password(site, token)
    sign_in(site)
    for _ in range(6):
        assert submit(site, "/account/email/resend", page="/account").status_int == 303
    assert count_to(site, "ann@example.com") == 10


def test_m4_the_resend_button_is_limited_per_user(site_with, frozen):
    """M4: it draws on the user's limit of 6 mails a minute, as the endpoint does."""
    site = site_with(limits="on")
    site.user()
    sign_in(site)
    seen = [submit(site, "/account/email/resend", page="/account").status_int for _ in range(8)]
    assert seen == [303] * 6 + [429] * 2
