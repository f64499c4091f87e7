""" "I did not register this account": the reader of a verification mail deletes it (finding S3)."""

from urllib.parse import quote

import pytest

from authsite.platform.mail.outbox import OutboxMessage
from authsite.users import service as users
from authsite.users.models import LoginName, User
from tests.account.test_email_change import change, paths_to
from tests.support.acting import acting
from tests.support.pages import csrf_of, sign_in
from tests.support.site import PASSWORD, bearer
from tests.verification.test_redirect_page import link_for

pytestmark = pytest.mark.both_databases

BUTTON = "Delete this account"


def press(site, url, *, page=None):
    """The answer to the button on the page of ``url``."""
    shown = site.http.get(f"/email/verify?url={quote(page or url, safe='')}", status="*")
    form = {"csrf_token": csrf_of(shown), "url": url}
    return site.http.post("/email/verify/disown", form, status="*")


def users_left(site):
    with site.db() as db:
        return {user.email for user in db.query(User)}


def test_the_button_deletes_the_account_and_all_that_was_issued(site):
    """S3: the stranger who registered the address is signed out, and the address is free."""
    user = site.user()
    token = site.login(site.client())["access_token"]
    sign_in(site)
    other_cookie = site.http.cookies["authsite"]
    site.http.reset()
    url = link_for(user)
    assert BUTTON in site.http.get(f"/email/verify?url={quote(url, safe='')}").text
    assert users_left(site) == {"ann@example.com"}  # opening the page deletes nothing
    answer = press(site, url)
    assert answer.status_int == 200
    assert "has been deleted" in answer.text
    site.me(token, status=401)
    site.http.set_cookie("authsite", other_cookie)
    site.http.get("/account", status=302)
    with site.db() as db:
        for table in (User, LoginName, OutboxMessage):
            assert db.query(table).all() == []
    assert site.events()[-1] == "user.erased"
    site.http.reset()
    site.http.get(url.removeprefix("http://localhost"), status=403)
    site.user()


def test_a_confirmed_account_has_no_such_button_and_is_never_deleted(site):
    user = site.user(confirmed=True)
    other = link_for(site.user("bo@example.com"))
    url = link_for(user)
    assert BUTTON not in site.http.get(f"/email/verify?url={quote(url, safe='')}").text
    assert press(site, url, page=other).status_int == 403
    assert users_left(site) == {"ann@example.com", "bo@example.com"}


def test_the_link_of_a_change_deletes_no_account(site):
    """The reader of the new address is not the owner of the account."""
    site.user()
    token = site.login(site.client())["access_token"]
    change(site, token)
    [path] = paths_to(site, "anna@example.org")
    url = f"http://localhost{path}"
    answer = press(site, url, page=link_for(site.user("bo@example.com")))
    assert answer.status_int == 403  # signed out, too: no way to the login of another person
    assert BUTTON not in answer.text
    page = f"/email/verify?url={quote(url, safe='')}"
    assert BUTTON not in site.http.get(page).follow().text
    sign_in(site)
    assert BUTTON not in site.http.get(page, status=200).text
    assert press(site, url).status_int == 403
    assert users_left(site) == {"ann@example.com", "bo@example.com"}


def test_a_language_chosen_on_a_page_that_leads_elsewhere_leads_there(site):
    """``show`` of a form may answer with a redirect, here to the login."""
    site.user()
    token = site.login(site.client())["access_token"]
    change(site, token)
    [path] = paths_to(site, "anna@example.org")
    shown = site.http.get(f"/email/verify?url={quote(link_for(site.user('bo@example.com')))}")
    form = {"csrf_token": csrf_of(shown), "url": f"http://localhost{path}", "lang": "de"}
    answer = site.http.post("/email/verify", form, status=303)
    assert "/login" in answer.headers["Location"]
    assert 'lang="de"' in answer.follow().text


def test_s3_a_change_to_the_same_address_does_not_take_the_button_away(site):
    """S3: a person who registered a foreign address cannot prevent its owner from deletion."""
    user = site.user()
    token = site.login(site.client())["access_token"]
    url = link_for(user)
    body = {"email": user.email, "current_password": PASSWORD}
    site.http.put_json("/v1/user/email", body, headers=bearer(token), status=202)
    assert BUTTON in site.http.get(f"/email/verify?url={quote(url, safe='')}").text
    assert press(site, url).status_int == 200
    assert users_left(site) == set()


def test_a_disabled_account_is_not_deleted_by_its_owner(site):
    user = site.user()
    other = link_for(site.user("bo@example.com"))
    with site.db() as db:
        users.disable(acting(db), users.find(db, "ann@example.com"))
    assert press(site, link_for(user), page=other).status_int == 403
    assert users_left(site) == {"ann@example.com", "bo@example.com"}


@pytest.mark.parametrize("url", ["", "x", "http://localhost/v1/email/verify/x", "tampered"])
def test_a_link_that_is_not_ours_deletes_nothing(site, url):
    good = link_for(site.user())
    url = good[:-1] + ("0" if good[-1] != "0" else "1") if url == "tampered" else url
    assert press(site, url, page=good).status_int in (403, 422)
    assert users_left(site) == {"ann@example.com"}


def test_without_the_token_of_the_form_or_by_get_nothing_is_deleted(site):
    url = link_for(site.user())
    site.http.post("/email/verify/disown", {"url": url}, status=403)
    site.http.get("/email/verify/disown", params={"url": url}, status=200)
    assert users_left(site) == {"ann@example.com"}


def test_the_signed_url_of_the_api_still_confirms(site):
    path = link_for(site.user()).removeprefix("http://localhost")
    site.http.get(path, status=200)
    login = site.login(site.client(), password=PASSWORD)
    headers = bearer(login["access_token"])
    assert site.http.get("/v1/user", headers=headers).json["confirmed"] is True
