"""A pending change of address: what ends it, and what its completion ends (finding C1)."""

import pytest
from sqlalchemy import select, update

from authsite.platform.runtime import clock
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users import service as users
from authsite.users.models import User
from tests.account.test_email_change import NEW, change, complete, errors_of, path_in, paths_to
from tests.support.acting import acting
from tests.support.mails import link_in, reset_fields, rows
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, bearer

OTHER = "purple wolf 77 tea"
PENDING = "/v1/user/email/pending"


class Story:
    """Ann with a token, a second token and a browser, and a pending change of her address."""

    def __init__(self, site):
        self.site = site
        self.user = site.user(confirmed=True)
        self.keys = site.client()
        self.token = site.login(self.keys)["access_token"]
        self.other = site.login(self.keys)["access_token"]
        sign_in(site)
        change(site, self.token)
        [self.path] = paths_to(site, NEW)

    def reset(self):
        body = {"email": "ann@example.com", "token": self.site.reset_token(self.user),
                "password": OTHER}  # fmt: skip
        self.site.http.post_json("/v1/password/reset", body)

    def password_by_api(self):
        body = {"current_password": PASSWORD, "password": OTHER}
        self.site.http.put_json("/v1/user/password", body, headers=bearer(self.token))

    def password_by_page(self):
        self.form("/account/password", current_password=PASSWORD, password=OTHER)

    def set_password(self):
        self.administer(lambda db, ann: users.set_password(acting(db), ann.id, "x"))

    def sign_out(self):
        self.administer(lambda db, ann: users.sign_out(acting(db), ann))

    def disable_and_enable(self):
        self.administer(lambda db, ann: users.disable(acting(db), ann))
        self.administer(lambda db, ann: users.enable(acting(db), ann))

    def every_epoch_raised(self):
        with self.site.db() as db:
            db.execute(update(User).values(epoch=User.epoch + 1))

    def end_others(self):
        self.form("/account/sessions/end-others")

    def end_one_by_api(self):
        path = f"/v1/user/sessions/{self.ids('app')[0]}"
        self.site.http.delete(path, headers=bearer(self.token), status=204)

    def end_one_by_page(self):
        self.form(f"/account/sessions/{self.ids('app')[0]}/end")

    def end_the_browser_by_api(self):
        path = f"/v1/user/sessions/{self.ids('browser')[0]}"
        self.site.http.delete(path, headers=bearer(self.token), status=204)

    def another_change(self):
        change(self.site, self.token, "third@example.org")

    def delete(self):
        self.site.http.delete(PENDING, headers=bearer(self.token), status=204)

    def ids(self, kind):
        found = self.site.http.get("/v1/user/sessions", headers=bearer(self.token)).json
        return [x["id"] for x in found["sessions"] if x["kind"] == kind and not x["current"]]

    def form(self, path, **fields):
        assert submit(self.site, path, page="/account", **fields).status_int == 303

    def administer(self, act):
        with self.site.db() as db:
            act(db, users.find(db, str(self.user.id)))

    def now(self):
        with self.site.db() as db:
            return db.get(User, self.user.id)


ENDS = [
    Story.reset, Story.password_by_api, Story.password_by_page, Story.set_password, Story.sign_out,
    Story.disable_and_enable, Story.every_epoch_raised, Story.end_others, Story.end_one_by_api,
    Story.end_one_by_page, Story.end_the_browser_by_api, Story.another_change, Story.delete,
]  # fmt: skip


@pytest.fixture
def story(site):
    return Story(site)


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_what_ends_a_sign_in_ends_a_pending_change(story, end):
    """C1: the link of an earlier change is refused, and the address stays."""
    end(story)
    assert errors_of(story.site.http.get(story.path, status=403)) == [("invalid_signature", None)]
    now = story.now()
    assert (now.email, now.email_verified_at is not None) == ("ann@example.com", True)


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_a_queued_mail_of_an_ended_change_is_dropped(site, end):
    """C1: a mail that waits while the change ends carries no link to anyone."""
    story = Story(site)
    change(site, story.token)  # its mail waits
    end(story)
    assert [mail for mail in site.mails() if mail["To"] == NEW] == []
    assert "expired" in {row.state for row in rows(site) if row.address == NEW}


def test_an_address_registered_in_advance_stays_with_its_owner(site):
    """C1: the attacker registers the victim's address first and leaves a change behind."""
    site.user("victim@example.com")
    keys = site.client()
    attacker = site.login(keys, "victim@example.com")["access_token"]
    change(site, attacker, "attacker@example.org")
    [path] = paths_to(site, "attacker@example.org")
    # The owner finds the address taken, resets the password and confirms the address.
    body = {"email": "victim@example.com", "reset_url": "http://localhost/password/reset"}
    site.http.post_json("/v1/password/forgot", body, status=202)
    [mail] = site.mails()
    body = {**reset_fields(site, mail), "password": OTHER}
    site.http.post_json("/v1/password/reset", body)
    mine = site.login(keys, "victim@example.com", OTHER)["access_token"]
    page = {"verification_url": "http://localhost/email/verify"}
    site.http.post_json("/v1/email/verification-notification", page, headers=bearer(mine))
    [own] = [mail for mail in site.mails() if "/email/verify/" in link_in(mail)]
    site.http.get(path_in(site, own), status=200)
    site.http.get(path, status=403)
    assert site.me(mine).json["email"] == "victim@example.com"


@pytest.mark.parametrize("keeps", ["profile", "logout", "login", "refresh"])
def test_what_ends_no_other_sign_in_leaves_a_pending_change(story, keeps):
    site = story.site
    if keeps == "profile":
        site.http.patch_json("/v1/user", {"name": "Ann"}, headers=bearer(story.token))
    elif keeps == "logout":
        site.logout(story.other)
    elif keeps == "login":
        story.form("/login", username="ann@example.com", password=PASSWORD)
    else:
        site.refresh(story.keys, site.login(story.keys)["refresh_token"])
    complete(site, story.path, story.token)
    assert story.now().email == NEW


def test_the_pending_change_is_shown_and_taken_back(frozen, story):
    site = story.site
    headers = bearer(story.token)
    change(site, story.token)
    shown = site.http.get(PENDING, headers=headers).json
    expires = clock.rfc3339(clock.now() + site.cfg.verification_expires_in)
    assert shown == {"email": NEW, "expires_at": expires}
    frozen.advance(site.cfg.verification_expires_in.total_seconds())
    assert site.http.get(PENDING, headers=headers, status=404).json["errors"][0]["code"]
    change(site, story.token)
    site.http.delete(PENDING, headers=headers, status=204)
    site.http.get(PENDING, headers=headers, status=404)
    site.http.delete(PENDING, headers=headers, status=204)
    assert site.events().count("email.change_canceled") == 1


def test_a_link_mailed_again_lives_as_long_as_a_new_one(frozen, story):
    site = story.site
    change(site, story.token)
    site.mails()
    frozen.advance(3000)
    story.form("/account/email/resend")
    [path] = paths_to(site, NEW)
    frozen.advance(3000)
    assert site.http.get(PENDING, headers=bearer(story.token)).json["email"] == NEW
    complete(site, path, story.token)


def test_a_completed_change_ends_every_sign_in(story):
    """L1: used from elsewhere, the link leaves no token and no browser signed in."""
    complete(story.site, story.path, story.other)
    for token in (story.token, story.other):
        story.site.me(token, status=401)
    with story.site.db() as db:
        epoch = db.get(User, story.user.id).epoch
        assert db.scalars(select(BrowserSession.user_epoch)).all() == [epoch - 1]
    story.site.http.get("/account", status=302)


def test_a_completed_change_keeps_the_browser_in_which_the_button_was_pressed(story):
    """L1: the button of our own page keeps that browser, under a new session id."""
    site = story.site
    before = site.http.cookies["authsite"]
    url = f"http://localhost{story.path}"
    answer = submit(site, "/email/verify", page=f"/email/verify?url={_quoted(url)}", url=url)
    assert answer.status_int == 200
    site.me(story.token, status=401)
    assert NEW in site.http.get("/account", status=200).text
    assert site.http.cookies["authsite"] != before


def test_a_button_pressed_in_another_users_browser_changes_nothing(story):
    site = story.site
    site.user("bo@example.com")
    site.http.reset()
    sign_in(site, "bo@example.com")
    url = f"http://localhost{story.path}"
    answer = submit(site, "/email/verify", page="/account", url=url)
    assert answer.html.h1.text == "Another account is signed in here"
    assert story.now().email == "ann@example.com"
    assert "bo@example.com" in site.http.get("/account", status=200).text


def test_there_and_back_again_revives_no_reset_link(site):
    """L1: a reset link mailed to an address is dead after a change away from it and back."""
    story = Story(site)
    token = site.reset_token(story.user)
    complete(site, story.path, story.token)
    back = site.login(story.keys, NEW)["access_token"]
    change(site, back, "ann@example.com")
    [path] = paths_to(site, "ann@example.com")
    complete(site, path, back)
    body = {"email": "ann@example.com", "token": token, "password": OTHER}
    answer = site.http.post_json("/v1/password/reset", body, status=422)
    assert errors_of(answer) == [("invalid_token", "token")]


def _quoted(url):
    return url.replace("?", "%3F").replace("&", "%26")
