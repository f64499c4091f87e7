"""A change of address that the user asked for is completed by that user alone, signed in.

The new mailbox may be another person's: a typing error, or an attacker's trap. Its reader must not
join the account to it, nor learn anything of the account.
"""

from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from tests.account.test_email_change import NEW, change, complete, errors_of, path_in
from tests.support import factors
from tests.support.mails import link_in
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, bearer

OLD = "ann@example.com"


class Asked(NamedTuple):
    """``link``: the short one of our page; ``path``: the one of the API."""

    site: Any
    ann: Any
    token: str
    link: str
    path: str


@pytest.fixture
def asked(site):
    """A pending change of Ann's address."""
    ann = site.user(confirmed=True)
    token = site.login(site.client())["access_token"]
    change(site, token)
    [mail] = [mail for mail in site.mails() if mail["To"] == NEW]
    return Asked(site, ann, token, link_in(mail), path_in(site, mail))


def address(asked):
    return factors.state(asked.site, asked.ann).email


def test_the_link_asks_for_a_sign_in_with_the_present_address_and_leads_on(asked):
    for page in (
        asked.link,
        f"/email/verify?url={quote('http://localhost' + asked.path, safe='')}",
    ):
        opened = asked.site.http.get(page, status=303)
        login = opened.follow()
        for text in (opened.text, login.text):
            assert OLD not in text
            assert NEW not in text
        assert "Sign in with the present address of your account." in login.html.main.get_text()
    form = login.forms[0]
    form["username"], form["password"] = OLD, PASSWORD
    page = form.submit().follow()
    assert page.request.path == asked.link.removeprefix("http://localhost")
    assert page.html.h1.get_text() == "Confirm your address"
    assert OLD in page.text
    assert NEW in page.text
    done = page.forms[0].submit()
    assert done.html.h1.text == "Your e-mail address was changed"
    assert address(asked) == NEW
    asked.site.http.get("/account", status=200)


def test_another_user_sees_nothing_of_the_account_and_changes_nothing(asked):
    asked.site.user("bo@example.com", confirmed=True)
    sign_in(asked.site, "bo@example.com")
    page = asked.site.http.get(asked.link, status=200)
    assert page.html.h1.text == "Another account is signed in here"
    for text in (OLD, NEW):
        assert text not in page.text
    done = submit(asked.site, "/email/verify", page="/account", url=f"http://localhost{asked.path}")
    assert done.html.h1.text == "Another account is signed in here"
    assert address(asked) == OLD
    login = asked.site.http.get(page.html.find("a", string="Use another account")["href"])
    form = login.forms[0]
    form["username"], form["password"] = OLD, PASSWORD
    assert OLD in form.submit().follow().text


def test_a_form_without_a_session_leads_to_the_login(asked):
    done = submit(asked.site, "/email/verify", page="/login", url=f"http://localhost{asked.path}")
    assert (done.status_int, address(asked)) == (303, OLD)
    assert "/login?next=/email/verify/" in done.location


@pytest.mark.parametrize("kind", ["none", "wrong", "other user", "machine", "personal"])
def test_the_link_of_the_api_needs_a_token_of_the_user(asked, kind):
    headers = {}
    if kind == "wrong":
        headers = bearer("no token")
    elif kind == "other user":
        asked.site.user("bo@example.com", confirmed=True)
        headers = bearer(asked.site.login(asked.site.client(), "bo@example.com")["access_token"])
    elif kind == "machine":
        machine = asked.site.token(
            asked.site.client("personal"), grant_type="client_credentials"
        ).json
        headers = bearer(machine["access_token"])
    elif kind == "personal":
        body = {"name": "x", "scope": "", "current_password": PASSWORD}
        made = asked.site.http.post_json("/v1/user/tokens", body, headers=bearer(asked.token))
        headers = bearer(made.json["token"])
    for method in ("GET", "POST"):
        answer = asked.site.http.request(asked.path, method=method, headers=headers, status=401)
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert address(asked) == OLD
    complete(asked.site, asked.path, asked.token)
    assert address(asked) == NEW
    asked.site.me(asked.token, status=401)


def test_a_wrong_link_is_refused_before_a_token_is_asked_for(asked):
    answer = asked.site.http.get(asked.path.replace("expires=1", "expires=2"), status=403)
    assert errors_of(answer) == [("invalid_signature", None)]


@pytest.mark.parametrize("headers", [{}, bearer("an old token")])
def test_the_present_address_is_confirmed_without_a_token(site, headers):
    site.user()
    token = site.login(site.client())["access_token"]
    body = {"verification_url": "http://localhost/email/verify"}
    path = "/v1/email/verification-notification"
    site.http.post_json(path, body, headers=bearer(token), status=202)
    [mail] = site.mails()
    site.http.get(path_in(site, mail), headers=headers, status=200)
    assert site.me(token).json["confirmed"]


def test_a_change_ends_no_factor(asked):
    factors.add_totp(asked.site, asked.ann)
    factors.add_passkey(asked.site, asked.ann)
    before = factors.left(asked.site, asked.ann)
    complete(asked.site, asked.path, asked.token)
    assert factors.left(asked.site, asked.ann) == before
    assert address(asked) == NEW
