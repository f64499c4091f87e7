"""Others who ask for reset links do not use up the mails of the owner (control L10)."""

import pytest

from tests.support.site import PASSWORD, WEB

pytestmark = pytest.mark.both_databases

PAGE = "https://app.example.org/new-password"
HOME, ELSEWHERE = "192.0.2.1", "203.0.113.9"


@pytest.fixture
def site(site_with, frozen):
    """Ann's site, which mails two reset links in an hour."""
    made = site_with(
        allowed_reset_password_urls=PAGE, limits="on", limits_forgot_email="2/hour",
        limits_forgot_address="900/hour", **WEB,
    )  # fmt: skip
    made.user()
    made.first_party("web")
    return made


def mailed(site, address, *, device=None):
    """Whether a request from ``address``, by a browser with this cookie, has sent a mail."""
    before = len(site.mails())
    site.http.reset()
    site.http.post_json(
        "/v1/password/forgot", {"email": "ann@example.com", "reset_url": PAGE}, status=202,
        headers={"Cookie": f"device={device}"} if device else {},
        extra_environ={"REMOTE_ADDR": address},
    )  # fmt: skip
    return len(site.mails()) > before


def log_in(site):
    """The owner logs in at home; the device cookie of the browser."""
    site.http.reset()
    body = {"username": "ann@example.com", "password": PASSWORD}
    site.http.post("/v1/clients/web/login", body, extra_environ={"REMOTE_ADDR": HOME})
    return site.http.cookies["device"]


def use_up(site):
    assert [mailed(site, f"198.51.100.{number}") for number in range(4)] == [True] * 2 + [False] * 2


@pytest.mark.control("L10")
def test_the_owner_gets_a_mail_at_a_recognized_address_after_others_have_used_them_up(site):
    log_in(site)
    use_up(site)
    assert not mailed(site, ELSEWHERE)
    assert [mailed(site, HOME) for _ in range(3)] == [True, True, False]


@pytest.mark.control("L10")
def test_the_owner_gets_a_mail_in_a_recognized_browser_after_others_have_used_them_up(site):
    device = log_in(site)
    use_up(site)
    assert [mailed(site, ELSEWHERE, device=device) for _ in range(3)] == [True, True, False]
    assert not mailed(site, ELSEWHERE)


@pytest.mark.control("L10")
def test_where_another_user_is_recognized_counts_as_anywhere_else(site):
    site.user("bob@example.com")
    other = site.try_login(site.client(), PASSWORD, address=HOME, username="bob@example.com")
    assert other.status_int == 200
    use_up(site)
    assert not mailed(site, HOME)
