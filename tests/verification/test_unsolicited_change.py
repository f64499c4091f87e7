"""A change of address that the owner of the new address did not ask for (account pre-hijacking)."""

from datetime import timedelta

import pytest

from authsite.platform.runtime import clock
from tests.account.test_email_change import NEW as ADDRESS
from tests.account.test_email_change import complete
from tests.support.mails import html_of, link_in, signed_url, text_of
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD, bearer
from tests.verification.story import NEW, OLD, Story, revert_link
from tests.verification.test_cancel_change import press

FOREIGN = "https://app.example.org/verified"
OWN = "http://localhost/email/verify"


@pytest.fixture
def story(site):
    return Story(site)


def ask(story, page=OWN, email=NEW):
    """Request a change; the mail to the new address. ``story.token``: who asked."""
    story.token = token = story.site.login(story.keys, OLD)["access_token"]
    body = {"email": email, "current_password": PASSWORD, "verification_url": page}
    story.site.http.put_json("/v1/user/email", body, headers=bearer(token), status=202)
    return next(mail for mail in story.site.mails() if mail["To"] == email)


def age(story, **since):
    story.settle(timedelta(**since))


@pytest.mark.control("F19")
def test_h1_a_young_account_cannot_be_taken_back_after_the_reset_of_the_new_address(story):
    """H1: the registrant changed the address to the victim's, who confirmed it and uses it."""
    site = story.site
    assert story.change(settled=False) is None
    assert "http" not in text_of(story.notice)
    assert story.kept() == []
    fields = {
        "email": NEW,
        "token": site.reset_token(story.now()),
        "password": "green otter 31 rye",
    }
    site.http.post_json("/v1/password/reset", fields, status=200)
    site.user(OLD)  # the former address is free


@pytest.mark.control("F19")
@pytest.mark.parametrize(("days", "kept"), [(6, []), (7, [OLD]), (8, [OLD])])
def test_h1_the_former_address_must_have_been_confirmed_for_seven_days(story, frozen, days, kept):
    age(story, days=days)
    story.change(settled=False)
    assert story.kept() == kept


@pytest.mark.control("F19")
def test_h1_what_counts_is_the_time_of_the_request(site_with, frozen):
    story = Story(site_with(verification_expires_in="30d"))
    age(story, days=6)
    mail = ask(story)
    frozen.advance(2 * 86400)
    complete(story.site, signed_url(story.site, mail).removeprefix("http://localhost"), story.token)
    assert story.now().email == NEW
    assert story.kept() == []


def test_a_setting_changes_the_age(site_with):
    story = Story(site_with(email_revert_min_age="0s"))
    assert story.change(settled=False)


@pytest.mark.control("F19")
def test_a_restored_address_is_confirmed_since_it_was_first(story):
    age(story, days=20)
    link = story.change(settled=False)
    press(story.site, link)
    assert clock.now() - story.now().email_verified_at > timedelta(days=19)


@pytest.mark.control("F19")
def test_an_address_that_the_user_takes_again_is_confirmed_since_it_was_first(story, frozen):
    """Otherwise the next change of address, an intruder's perhaps, could not be taken back."""
    age(story, days=20)
    assert story.change(settled=False)
    assert story.change(old=NEW, new=OLD, settled=False) is None
    frozen.advance(4 * 86400)  # the first change can no longer be taken back
    assert story.change(settled=False)


@pytest.mark.control("F19")
@pytest.mark.parametrize("page", [OWN, FOREIGN])
def test_the_mail_names_both_addresses_and_the_page_shows_them_to_its_user_alone(site_with, page):
    story = Story(site_with(allowed_verify_email_urls=f"{OWN} {FOREIGN}"))
    mail = ask(story, page)
    for text in (" ".join(text_of(mail).split()), html_of(mail)):
        assert OLD in text
        assert NEW in text
        assert "If you have no account here, do not confirm" in text
        assert "This is not my account" in text
        assert "sign in there with" in text
    link = link_in(mail)
    assert link.startswith(f"{OWN}/" if page == OWN else f"{FOREIGN}?url=")
    if page == OWN:
        opened = story.site.http.get(link, status=303)
        assert opened.location.startswith("http://localhost/login?next=/email/verify/")
        assert NEW not in opened.text + opened.follow().text
        sign_in(story.site, OLD)
        page = story.site.http.get(link)
        assert page.html.h1.text == "Confirm your address"
        assert NEW in page.html.main.text
        assert OLD in page.html.main.text


@pytest.mark.control("F19")
@pytest.mark.parametrize("way", ["page", "mail"])
def test_h1_this_is_not_my_account_cancels_the_change(story, way):
    site, mail = story.site, ask(story)
    url = signed_url(site, mail).removeprefix("http://localhost")
    if way == "page":
        sign_in(site, OLD)
        shown = site.http.get(link_in(mail))
        [form] = [each for each in shown.forms.values() if each.action == "/email/change/cancel"]
        done = form.submit()
    else:
        decline = html_link(mail, "This is not my account")
        assert OLD not in site.http.get(decline).text
        assert story.now().pending_email == NEW  # opening changes nothing
        done = press(site, decline)
        assert OLD not in done.text
    assert done.status_int == 200
    assert "a…@example.com" in done.text
    assert story.now().pending_email is None
    site.http.get(url, status=403)
    assert site.events()[-1] in ("email.change_canceled", "verification.refused")


def html_link(mail, words):
    from bs4 import BeautifulSoup

    return BeautifulSoup(html_of(mail), "html.parser").find("a", string=words)["href"]


def test_the_link_of_the_new_address_is_not_that_of_the_present_one(story):
    """The page of the present address shows it whole."""
    token = story.site.login(story.keys, OLD)["access_token"]
    body = {"email": NEW, "current_password": PASSWORD, "verification_url": OWN}
    story.site.http.put_json("/v1/user/email", body, headers=bearer(token), status=202)
    mails = {mail["To"]: mail for mail in story.site.mails()}
    decline = html_link(mails[NEW], "This is not my account")
    cancel = html_link(mails[OLD], "Cancel the change")
    assert decline != cancel
    assert OLD in story.site.http.get(cancel).text
    assert OLD not in story.site.http.get(decline).text


def test_after_the_change_the_login_has_the_new_address(story):
    site, mail = story.site, ask(story)
    complete(site, signed_url(site, mail).removeprefix("http://localhost"), story.token)
    sign_in(site, NEW)
    assert NEW in site.http.get("/account", status=200).text


def test_m2_the_browser_session_in_which_the_button_was_pressed_stays(story):
    site, mail = story.site, ask(story)
    sign_in(site)
    done = site.http.get(link_in(mail)).forms[0].submit()
    assert "You were signed out everywhere else." in done.html.main.get_text()
    assert NEW in site.http.get("/account", status=200)


def test_m2_the_account_page_names_the_pending_address_in_amber(story):
    sign_in(story.site)
    fields = {"email": NEW, "current_password": PASSWORD}
    page = submit(story.site, "/account/email", page="/account", **fields).follow()
    [notice] = page.html.select(".notice.warning")
    assert NEW in notice.text
    assert "signed in to this account" in notice.text
    for said in (notice.text, page.html.select_one("#email-email-hint").text):
        assert "signed out everywhere else" in said  # not here, where the change is completed


def test_the_account_page_says_until_when_a_change_can_be_taken_back(story):
    story.change()
    sign_in(story.site, NEW)
    story.site.http.get("/account")  # the page after the sign-in says it, too
    page = story.site.http.get("/account")
    assert "a…@example.com can take the change back until" in page.text
    assert OLD not in page.text


@pytest.mark.parametrize("way", ["login", "reset"])
def test_the_next_page_says_once_that_the_change_can_be_taken_back(story, way):
    site = story.site
    story.change()
    if way == "login":
        sign_in(site, NEW)
    else:
        page = site.http.get("/password/forgot")
        fields = {"email": NEW, "token": site.reset_token(story.now()), "csrf_token": csrf_of(page)}
        site.http.post("/password/reset", {**fields, "password": "green otter 31 rye"}, status=303)
    words = "The former address a…@example.com can take the change, and the account, back until"
    assert words in " ".join(site.http.get("/").maybe_follow().text.split())
    assert words not in " ".join(site.http.get("/").maybe_follow().text.split())


def test_without_such_a_right_no_page_says_so(story):
    story.change(settled=False)
    sign_in(story.site, NEW)
    assert "can take the change" not in story.site.http.get("/account").text


def test_m5_the_page_of_a_registration_names_address_and_site(site_with):
    site = site_with(site_name="Lighthouse")
    submit(site, "/register", email=ADDRESS, password=PASSWORD)
    [mail] = site.mails()
    assert f"Welcome to Lighthouse. Confirm {ADDRESS} to finish" in " ".join(text_of(mail).split())
    shown = site.http.get(link_in(mail))
    assert shown.html.h1.text == f"Confirm {ADDRESS}"
    assert "to finish creating your account at Lighthouse." in shown.text
    assert "Delete this account" in shown.text


def test_an_internationalized_domain_is_shown_decoded_and_stored_in_ascii(site):
    submit(site, "/register", email="info@müller.de", password=PASSWORD)
    [mail] = site.mails()
    assert mail["To"] == "info@xn--mller-kva.de"
    assert "info@müller.de" in text_of(mail)
    shown = site.http.get(link_in(mail))
    assert shown.html.h1.text == "Confirm info@müller.de"
    sign_in(site, "info@müller.de")
    page = site.http.get("/account").html.main.get_text()
    assert "info@müller.de" in page
    assert "xn--" not in page


def test_the_revert_link_names_the_change_and_has_no_url_within(story):
    link = revert_link(story.notice) if story.change() else None
    assert len(link) < 140
