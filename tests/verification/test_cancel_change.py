"""A pending change of address, canceled on the account page or with the link in the notice."""

import re

import pytest

from authsite.users.models import User
from tests.account.test_email_change import NEW, change, complete, errors_of, path_in
from tests.support.mails import html_of, link_in, text_of
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD, bearer

pytestmark = pytest.mark.both_databases

CANCEL = "http://localhost/email/change/cancel"
OLD = "ann@example.com"


class Story:
    """Ann's account, a pending change of its address, and the mails about it."""

    def __init__(self, site, *, confirmed=True):
        self.site = site
        self.user = site.user(confirmed=confirmed)
        self.token = site.login(site.client())["access_token"]
        self.request()

    def request(self, email=NEW):
        change(self.site, self.token, email)
        mails = {mail["To"]: mail for mail in self.site.mails()}
        self.notice, self.path = mails[OLD], path_in(self.site, mails[email])
        self.link = cancel_link(self.notice)

    def complete(self, status=200):
        return complete(self.site, self.path, self.token, status)

    def now(self):
        with self.site.db() as db:
            return db.get(User, self.user.id)


def cancel_link(mail):
    """The link that cancels, or None."""
    found = re.search(rf"^{re.escape(CANCEL)}/\S+$", text_of(mail), re.MULTILINE)
    return found and found[0]


def token_of(link):
    return link.rpartition("/")[2]


def press(site, link, *, page=None):
    """Open ``page`` and press the button of ``link``'s page; the answer."""
    path = re.search("/email/change/[a-z]+", link)[0]
    return submit(site, path, page=page or link, token=token_of(link))


@pytest.fixture
def story(site):
    return Story(site)


def test_the_notice_leads_to_a_new_password_and_to_canceling(story):
    assert link_in(story.notice) == "http://localhost/password/forgot"
    html = html_of(story.notice)
    assert f'href="{story.link}"' in html
    assert "Reset my password" in html
    assert "This also cancels the change." in " ".join(text_of(story.notice).split())


def test_opening_the_link_changes_nothing_and_pressing_the_button_cancels(story):
    page = story.site.http.get(story.link)
    assert OLD in page.text
    assert NEW not in page.text
    assert story.now().pending_email == NEW
    done = page.forms[0].submit()
    assert "The change is canceled" in done
    assert story.now().pending_email is None
    assert errors_of(story.complete(403)) == [("invalid_signature", None)]
    assert story.site.events().count("email.change_canceled") == 1
    assert story.site.me(story.token).json["email"] == OLD


def test_the_page_then_leads_to_a_new_password(story):
    done = press(story.site, story.link)
    assert done.html.select_one("a.primary")["href"] == "/password/forgot"


def test_a_link_that_was_used_or_comes_too_late_says_what_to_do(story):
    press(story.site, story.link)
    again = press(story.site, story.link, page="/login")
    assert again.status_int == 403
    assert "There is no change to cancel" in again
    story.request()
    story.complete()
    late = story.site.http.get(story.link, status=403)
    assert "the former address got another e-mail" in late
    assert late.html.select_one("main form") is None


@pytest.mark.control("F06")
def test_a_link_cancels_its_own_change_only(story):
    first = story.link
    story.request("third@example.org")
    assert press(story.site, first, page="/login").status_int == 403
    assert story.now().pending_email == "third@example.org"
    assert press(story.site, story.link).status_int == 200


def test_sending_the_link_again_leaves_the_cancel_link_working(story, frozen):
    """An intruder must not outlive the link by prolonging the change."""
    sign_in(story.site)
    frozen.at = story.now().pending_expires_at
    for _ in range(40):
        frozen.advance(-60)
        assert submit(story.site, "/account/email/resend", page="/account").status_int == 303
        frozen.at = story.now().pending_expires_at
    frozen.advance(-1)
    assert press(story.site, story.link).status_int == 200
    assert story.now().pending_email is None


@pytest.mark.control("F16")
@pytest.mark.parametrize("forge", [
    lambda link, other: link[:-1] + ("0" if link[-1] != "0" else "1"),
    lambda link, other: CANCEL,
    lambda link, other: f"{CANCEL}/",
    lambda link, other: f"{CANCEL}/x.y",
    lambda link, other: link.partition(".")[0],
    lambda link, other: link.replace(token_of(link).partition(".")[0], other),
    lambda link, other: f"{CANCEL}/{'a' * 700}",
    lambda link, other: f"{CANCEL}?token=%00%FF",
])  # fmt: skip
def test_a_forged_link_cancels_nothing(story, forge):
    bo = story.site.user("bo@example.com", confirmed=True)
    link = forge(story.link, str(bo.id))
    page = story.site.http.get(link, status="*")
    assert page.status_int in (400, 403, 404)
    assert press(story.site, link, page="/login").status_int in (403, 422)
    assert story.now().pending_email == NEW


@pytest.mark.control("S04")
def test_without_the_forms_token_nothing_is_canceled(story):
    form = {"token": token_of(story.link)}
    story.site.http.post("/email/change/cancel", form, status=403)
    headers = {"Origin": "https://evil.example"}
    page = story.site.http.get(story.link)
    form["csrf_token"] = csrf_of(page)
    story.site.http.post("/email/change/cancel", form, headers=headers, status=403)
    story.site.http.head(story.link)
    assert story.now().pending_email == NEW


@pytest.mark.control("F17")
def test_the_token_is_nowhere_else_and_leaves_the_address_bar(story):
    page = story.site.http.get(story.link)
    assert page.text.count(token_of(story.link)) == 1
    assert page.html.select_one("[data-address='/email/change/cancel']")
    assert page.headers["Cache-Control"] == "no-store"
    assert page.headers["Referrer-Policy"] == "same-origin"


def test_an_address_that_was_never_confirmed_cannot_cancel(site):
    """It may be another person's."""
    story = Story(site, confirmed=False)
    assert story.link is None


def test_the_account_page_cancels_and_sends_again(story):
    site = story.site
    sign_in(site)
    page = site.http.get("/account")
    assert NEW in page
    assert "Cancel the change" in page
    assert submit(site, "/account/email/resend", page="/account").status_int == 303
    assert [mail["To"] for mail in site.mails()] == [NEW]
    done = submit(site, "/account/email/cancel", page="/account").follow()
    assert "The change of your e-mail address is canceled." in done
    assert NEW not in done
    assert "Cancel the change" not in done
    story.complete(403)
    assert site.http.get("/account/email/cancel").location.endswith("/account#email")


def test_canceling_twice_on_the_page_is_one_event_and_no_error(story):
    sign_in(story.site)
    for _ in range(2):
        assert submit(story.site, "/account/email/cancel", page="/account").status_int == 303
    assert story.site.events().count("email.change_canceled") == 1


def test_the_api_shows_and_cancels_it(story):
    path = "/v1/user/email/pending"
    headers = bearer(story.token)
    assert story.site.http.get(path, headers=headers).json["email"] == NEW
    story.site.http.delete(path, headers=headers, status=204)
    story.site.http.get(path, headers=headers, status=404)
    assert story.site.http.get(story.link, status=403)


def test_a_canceled_change_can_be_requested_again(story):
    press(story.site, story.link)
    story.request()
    story.complete()
    assert story.now().email == NEW
    story.site.login(story.site.client(), NEW, PASSWORD)
