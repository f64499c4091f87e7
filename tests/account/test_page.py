"""The account page: every form does what its API twin does, and comes back to the page."""

import pytest
from sqlalchemy import select

from authsite.sessions.models import BrowserSession
from tests.support.mails import link_in
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD, Site

NEW = "purple wolf 77 tea"


@pytest.fixture
def ann(site_with):
    """A site where Ann is signed in with a browser."""
    site = site_with(login_identifiers="email username phone", phone_region="DE")
    site.user()
    sign_in(site)
    return site


def send(site, path, **fields):
    return submit(site, path, page="/account", **fields)


SECURITY = ("password", "sessions")


def done(answer, what):
    assert answer.status_int == 303, answer
    page = "/account/security" if what in SECURITY else "/account"
    assert answer.headers["Location"].endswith(f"{page}?done={what}")


def test_the_profile_is_saved_and_emptied(ann):
    done(send(ann, "/account/profile", name="Ann Lee", username="annlee"), "profile")
    page = ann.http.get("/account").text
    assert 'value="Ann Lee"' in page
    assert 'value="annlee"' in page
    done(send(ann, "/account/profile", name="", username=""), "profile")
    page = ann.http.get("/account").text
    assert 'value="Ann Lee"' not in page
    ann.login(ann.client(), username="annlee", status=400)


def test_an_error_in_the_profile_comes_back_beside_its_field(ann):
    answer = send(ann, "/account/profile", name="Ann", username="a@b", phone="12")
    assert answer.status_int == 422
    assert answer.text.count('aria-invalid="true"') == 2
    assert 'value="a@b"' in answer.text


def test_an_address_changes_once_its_link_was_used(ann):
    done(send(ann, "/account/email", email="new@example.com", current_password=PASSWORD), "email")
    assert "new@example.com" in ann.http.get("/account").text
    done(send(ann, "/account/email/resend"), "resend")
    mails = [mail for mail in ann.mails() if mail["To"] == "new@example.com"]
    assert len(mails) == 2
    page = ann.http.get(link_in(mails[-1]))
    url = page.forms[0]["url"].value
    ann.http.post("/email/verify", {"csrf_token": csrf_of(page), "url": url}, status=200)
    ann.login(ann.client(), username="new@example.com")


@pytest.mark.parametrize(
    "fields",
    [
        {"email": "new@example.com", "current_password": "wrong wrong"},
        {"email": "no address", "current_password": PASSWORD},
    ],
)
def test_a_change_of_address_with_an_error_changes_nothing(ann, fields):
    assert send(ann, "/account/email", **fields).status_int == 422
    assert ann.mails() == []


def test_a_confirmed_user_who_requests_a_link_gets_no_mail(site_with):
    site = site_with()
    site.user(confirmed=True)
    sign_in(site)
    done(send(site, "/account/email/resend"), "resend")
    assert site.mails() == []


@pytest.mark.control("P10")
def test_a_new_password_keeps_this_browser_and_ends_the_others(ann):
    other = Site(ann.url, login_identifiers="email username phone", phone_region="DE")
    sign_in(other)
    wrong = send(ann, "/account/password", current_password="wrong wrong 1", password=NEW)
    assert wrong.status_int == 422
    fields = {"current_password": PASSWORD, "password": NEW}
    done(send(ann, "/account/password", **fields), "password")
    ann.http.get("/account", status=200)
    other.http.get("/account", status=302)
    other.database.dispose()


@pytest.mark.control("X03")
def test_sessions_can_be_ended_one_by_one_and_all_others_at_once(ann):
    keys = ann.client()
    first, second = ann.login(keys), ann.login(keys)
    with ann.db() as db:
        [here] = db.scalars(select(BrowserSession.id)).all()
    family = ann.families()[0].id
    done(send(ann, f"/account/sessions/{family}/end"), "sessions")
    ann.me(first["access_token"], status=401)
    ann.me(second["access_token"])
    done(send(ann, "/account/sessions/end-others"), "sessions")
    ann.me(second["access_token"], status=401)
    ann.http.get("/account", status=200)
    assert send(ann, "/account/sessions/not-an-id/end").status_int == 404
    assert send(ann, f"/account/sessions/{here}/end").location.endswith("/?done=signed-out")
    ann.http.get("/account", status=302)


@pytest.mark.control("X02")
def test_deleting_the_account_requires_the_password_and_shows_a_farewell(ann):
    assert send(ann, "/account/delete", current_password="wrong wrong 1").status_int == 422
    answer = send(ann, "/account/delete", current_password=PASSWORD)
    assert answer.headers["Location"].endswith("/?done=deleted")
    assert "authsite" not in ann.http.cookies
    ann.login(ann.client(), status=400)
