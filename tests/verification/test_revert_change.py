"""A change of address that took place, taken back from the former mailbox."""

from functools import partial

import pytest

from authsite.users import service as users
from authsite.users.models import User
from tests.account.test_email_change import change, path_in
from tests.support.acting import acting
from tests.support.mails import link_in, reset_fields, rows, text_of
from tests.support.pages import csrf_of, sign_in
from tests.support.site import PASSWORD, bearer
from tests.support.together import together
from tests.verification.story import NEW, OLD, REVERT, THIRD, Story, revert_link
from tests.verification.test_cancel_change import press, token_of

pytestmark = pytest.mark.both_databases

OTHER = "green otter 31 rye"


@pytest.fixture
def story(site):
    return Story(site)


@pytest.mark.control("F19")
def test_the_former_address_takes_the_change_back_and_a_reset_opens_the_account(story):
    site, link = story.site, story.change()
    assert NEW not in story.notice.as_string()
    stolen = site.login(story.keys, NEW)
    sign_in(site, NEW)
    page = site.http.get(link)
    assert OLD in page.text
    assert NEW not in page.text
    assert story.now().email == NEW  # opening it changed nothing
    site.http.reset()
    assert "The change is taken back" in press(site, link)

    now = story.now()
    assert (now.email, now.password_hash, now.pending_email) == (OLD, None, None)
    assert now.email_verified_at is not None
    site.me(stolen["access_token"], status=401)
    site.refresh(story.keys, stolen["refresh_token"], status=400)
    for name in (OLD, NEW):
        site.login(story.keys, name, status=400)

    mails = {mail["To"]: mail for mail in site.mails()}
    assert set(mails) == {OLD, NEW}
    assert "http" not in text_of(
        mails[NEW]
    )  # the notice to the person who lost the address has no link
    assert OLD not in mails[NEW].as_string()
    body = {**reset_fields(site, mails[OLD]), "password": OTHER}
    site.http.post_json("/v1/password/reset", body)
    site.login(story.keys, OLD, OTHER)
    assert site.events().count("email.change_reverted") == 1


@pytest.mark.control("F19")
def test_the_browser_session_that_confirmed_the_change_ends_too(story):
    site = story.site
    story.settle()
    sign_in(site)
    change(site, site.login(story.keys)["access_token"], NEW)
    to_new = next(mail for mail in site.mails() if mail["To"] == NEW)
    site.http.get(link_in(to_new)).forms[0].submit()
    assert NEW in site.http.get("/account")
    press(site, revert_link(next(mail for mail in site.mails() if mail["To"] == OLD)))
    assert site.http.get("/account").status_int == 302


@pytest.mark.control("F19")
def test_no_later_change_of_password_or_address_ends_the_link(story):
    link = story.change()
    token = story.site.login(story.keys, NEW)["access_token"]
    body = {"current_password": PASSWORD, "password": OTHER}
    story.site.http.put_json("/v1/user/password", body, headers=bearer(token))
    fields = {"email": NEW, "token": story.site.reset_token(story.now()), "password": PASSWORD}
    story.site.http.post_json("/v1/password/reset", fields)
    story.change(NEW, THIRD)
    with story.site.db() as db:
        users.sign_out(acting(db), db.get(User, story.user.id))
    assert press(story.site, link).status_int == 200
    assert story.now().email == OLD


@pytest.mark.control("F19")
def test_an_intruder_who_changed_twice_cannot_restore_the_address_in_between(story):
    first = story.change()
    second = story.change(NEW, THIRD)
    press(story.site, first)
    assert press(story.site, second, page="/login").status_int == 403
    assert story.now().email == OLD
    assert story.kept() == []


@pytest.mark.control("F19")
def test_taking_a_later_change_back_leaves_the_link_of_an_earlier_one(story):
    first = story.change()
    second = story.change(NEW, THIRD)
    press(story.site, second)
    assert (story.now().email, story.kept()) == (NEW, [OLD])
    press(story.site, first)
    assert story.now().email == OLD


@pytest.mark.control("F19")
def test_nothing_of_the_intruder_works_after_it(story):
    """A pending change, a reset link, a token for programs: each ends."""
    site, link = story.site, story.change()
    sign_in(site, NEW)
    token = site.login(story.keys, NEW)["access_token"]
    body = {"name": "x", "current_password": PASSWORD}
    personal = site.http.post_json("/v1/user/tokens", body, headers=bearer(token)).json["token"]
    reset = site.reset_token(story.now())
    change(site, token, THIRD)
    pending = next(path_in(site, mail) for mail in site.mails() if mail["To"] == THIRD)
    body = {"email": NEW, "reset_url": "http://localhost/password/reset"}
    site.http.post_json("/v1/password/forgot", body, status=202)  # waits in the outbox
    press(site, link)
    site.http.get(pending, status=403)
    site.me(personal, status=401)
    for email in (OLD, NEW):
        fields = {"email": email, "token": reset, "password": OTHER}
        site.http.post_json("/v1/password/reset", fields, status=422)
    assert [
        mail for mail in site.mails() if mail["To"] == NEW and "/password/reset/" in text_of(mail)
    ] == []


def test_a_setting_of_zero_switches_it_off(site_with):
    story = Story(site_with(email_revert_expires_in="0s"))
    assert story.change() is None
    assert "http" not in text_of(story.notice)
    assert story.kept() == []


@pytest.mark.control("F19")
def test_the_link_works_once_and_not_longer_than_the_setting(site_with, frozen):
    story = Story(site_with(email_revert_expires_in="2h"))
    link = story.change()
    assert "for 2 hours" in text_of(story.notice)
    frozen.advance(2 * 3600)
    assert press(story.site, link, page="/login").status_int == 403
    assert story.site.http.get(link, status=403)
    frozen.advance(-1)
    assert press(story.site, link).status_int == 200
    assert press(story.site, link, page="/login").status_int == 403


@pytest.mark.control("F19")
def test_of_two_at_once_one_takes_it_back(story):
    link = story.change()
    page = story.site.http.get(link)
    form = {"csrf_token": csrf_of(page), "token": token_of(link)}
    post = partial(story.site.http.post, "/email/change/revert", form, status="*")
    answers = together(post, post)
    assert sorted(answer.status_int for answer in answers) == [200, 403]
    assert story.site.events().count("email.change_reverted") == 1
    assert sum(row.kind == "reset" for row in rows(story.site)) == 1


@pytest.mark.control("F16")
@pytest.mark.parametrize("forge", [
    lambda token: token[:-1] + ("A" if token[-1] != "A" else "B"),
    lambda token: "", lambda token: "x", lambda token: token * 2, lambda token: "%00",
])  # fmt: skip
def test_a_forged_link_takes_nothing_back(story, forge):
    link = story.change()
    forged = f"{REVERT}/{forge(token_of(link))}"
    assert story.site.http.get(forged, status="*").status_int in (400, 403, 404)
    assert press(story.site, forged, page="/login").status_int in (403, 422)
    assert story.now().email == NEW


@pytest.mark.control("F16")
def test_a_reset_token_takes_nothing_back(story):
    story.change()
    link = f"{REVERT}/{story.site.reset_token(story.now())}"
    assert press(story.site, link, page="/login").status_int == 403


@pytest.mark.control("S04")
def test_only_the_button_takes_it_back(story):
    link = story.change()
    story.site.http.head(link)
    story.site.http.post("/email/change/revert", {"token": token_of(link)}, status=403)
    assert story.now().email == NEW


@pytest.mark.control("T20")
def test_a_disabled_user_stays_disabled_and_as_it_is(story):
    link = story.change()
    with story.site.db() as db:
        users.disable(acting(db), db.get(User, story.user.id))
    assert story.site.http.get(link, status=403)
    assert press(story.site, link, page="/login").status_int == 403
    with story.site.db() as db:
        users.enable(acting(db), db.get(User, story.user.id))
    assert press(story.site, link).status_int == 200


def test_the_login_page_has_the_restored_address(story):
    link = story.change()
    press(story.site, link)
    assert story.site.http.get("/login").forms[0]["username"].value == OLD
    assert story.site.http.get("/password/forgot").forms[0]["email"].value == OLD


@pytest.mark.parametrize("language", ["en", "de", "es", "fr"])
def test_the_pages_speak_the_reader_s_language(story, language):
    link = story.change()
    page = story.site.http.get(link, headers={"Accept-Language": language})
    assert page.html.html["lang"] == language
