"""A page says of a dead link that it is dead, before anything is typed (pages M6)."""

from datetime import timedelta
from urllib.parse import quote

import pytest

from authsite.users import service as users
from tests.account.test_email_change import change, paths_to
from tests.support.acting import acting
from tests.support.pages import sign_in
from tests.support.site import bearer

NEW = "a purple wolf at tea 77"


def open_reset(site, token, email="ann@example.com"):
    return site.http.get("/password/reset", params={"email": email, "token": token}, status="*")


def dead(answer):
    return (
        answer.status_int == 422
        and 'name="password"' not in answer.text
        and "no longer works" in answer.text
    )


def test_a_valid_link_shows_the_form_however_often_it_is_opened(site):
    """pages M6: checking spends nothing."""
    token = site.reset_token(site.user())
    for _ in range(3):
        answer = open_reset(site, token)
        assert answer.status_int == 200
        assert 'name="password"' in answer.text
    body = {"email": "ann@example.com", "token": token, "password": NEW}
    site.http.post_json("/v1/password/reset", body)
    assert dead(open_reset(site, token))


def test_an_expired_a_foreign_and_a_wrong_link_are_one_page(site):
    """pages M6: and for an unknown address, a disabled user or no address the very same."""
    user, other = site.user(), site.user("bo@example.com")
    off = site.user("off@example.com")
    of_disabled = site.reset_token(off)
    with site.db() as db:
        users.disable(acting(db), users.find(db, "off@example.com"))
    expired = site.reset_token(user, lifetime=-timedelta(seconds=1))
    responses = [
        open_reset(site, expired),
        open_reset(site, site.reset_token(other)),
        open_reset(site, "x" * 64),
        open_reset(site, site.reset_token(user), "nobody@example.com"),
        open_reset(site, site.reset_token(user), "no address"),
        open_reset(site, of_disabled, "off@example.com"),
    ]
    assert all(dead(answer) for answer in responses)


@pytest.mark.parametrize("token", ["\x00", "é", "x" * 5000, "[]"])
def test_any_text_for_a_token_is_a_dead_link(site, token):
    site.user()
    assert dead(open_reset(site, token))
    assert dead(open_reset(site, "x" * 64, token))


def test_the_page_of_an_ended_change_of_address_shows_it(site):
    """pages M6: a verification link is looked up when it is opened, too."""
    site.user(confirmed=True)
    token = site.login(site.client())["access_token"]
    change(site, token)
    [path] = paths_to(site, "anna@example.org")
    page = f"/email/verify?url={quote(f'http://localhost{path}', safe='')}"
    sign_in(site)
    assert site.http.get(page, status=200).forms
    site.http.delete("/v1/user/email/pending", headers=bearer(token), status=204)
    assert "does not work" in site.http.get(page, status=403).text
