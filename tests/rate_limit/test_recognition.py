"""What ends the recognition of browsers and addresses, and that nothing brings it back (L1)."""

from datetime import timedelta
from functools import partial
from uuid import uuid4

import pytest
from sqlalchemy import delete, update

from authsite.platform.rate_limit import limit_subject, recognized
from authsite.platform.rate_limit.recognized import Owner
from authsite.platform.rate_limit.storage import LimitCounter
from authsite.platform.runtime import clock
from authsite.users import service as users
from authsite.users import user_data
from authsite.users.models import FormerAddress, User
from authsite.verification import links
from tests.support.acting import acting
from tests.support.mails import link_in, text_of
from tests.support.notices import choose, press
from tests.support.pages import submit
from tests.support.site import PASSWORD, WEB
from tests.support.statements import counted

LIMITS = {
    "limits": "on",
    "limits_login_account": "3/5 minutes",
    "limits_login_address": "900/minute",
    "limits_security_notice": "100/day",
}
LOGIN = "/v1/clients/web/login"
NEW = "purple wolf 77 tea"
HOME, INTRUDER, ELSEWHERE = "192.0.2.1", "203.0.113.9", "198.51.100.77"


class Story:
    """Ann, who has logged in at home, and an intruder with her password."""

    def __init__(self, site):
        self.site = site
        site.first_party("web")
        self.ann = site.user(confirmed=True)
        self.password = PASSWORD
        self.log_in(address=HOME)
        assert self.notices() == 0

    def log_in(self, *, cookie=None, address=ELSEWHERE, password=None, name="ann@example.com"):
        """A login of a browser with just this device cookie."""
        self.site.http.reset()
        return self.site.http.post(
            LOGIN, {"username": name, "password": password or self.password},
            headers={"Cookie": f"device={cookie}"} if cookie else {}, status="*",
            extra_environ={"REMOTE_ADDR": address},
        )  # fmt: skip

    def notices(self):
        """How many notices of a new device have been mailed since the last call."""
        return sum("/login/not-me" in text_of(mail) for mail in self.site.mails())

    def intrude(self):
        """The device cookie of the intruder's browser, and the link in the notice to Ann."""
        cookie = device(self.log_in(address=INTRUDER))
        [mail] = self.site.mails()
        return cookie, link_in(mail)

    def lock(self):
        """Strangers use up the limit of the account."""
        for number in range(4):
            last = self.log_in(password="not this one", address=f"198.51.100.{number}")
        assert last.status_int == 429


def device(answer):
    """The device cookie that an answer sets, or None."""
    found = [x for x in answer.headers.getall("Set-Cookie") if x.startswith("device=")]
    return found[0].partition("=")[2].partition(";")[0] if found else None


@pytest.fixture
def story(site_with, frozen):
    return Story(site_with(**LIMITS, **WEB))


def reset_by_api(story, _link):
    body = {"email": "ann@example.com", "token": story.site.reset_token(story.ann), "password": NEW}
    story.password = NEW
    return story.site.http.post_json("/v1/password/reset", body, status=200)


def reset_by_page(story, _link):
    token = story.site.reset_token(story.ann)
    story.password = NEW
    url = f"/password/reset?email=ann%40example.com&token={token}"
    fields = {"email": "ann@example.com", "token": token, "password": NEW}
    answer = submit(story.site, "/password/reset", page=url, password_confirmation=NEW, **fields)
    assert answer.status_int == 303
    return answer


def set_password(story, _link):
    story.password = NEW
    with story.site.db() as db:
        hashed = story.site.app.registry["authsite"].passwords.hash(NEW)
        users.set_password(acting(db), story.ann.id, hashed)


def not_me(story, link):
    """End the sign-ins and the password with the link, then choose a password with it."""
    assert press(story.site, link).status_int == 200
    answer = choose(story.site, link, NEW)
    assert answer.status_int == 200
    story.password = NEW
    return answer


def revert(story, _link):
    """Take a change back that the intruder has completed; then Ann resets the password."""
    with story.site.db() as db:
        token = former_of(db, story)
    answer = submit(story.site, "/email/change/revert", page="/login", token=token)
    assert answer.status_int == 200
    with story.site.db() as db:
        hashed = story.site.app.registry["authsite"].passwords.hash(PASSWORD)
        db.execute(update(User).where(User.id == story.ann.id).values(password_hash=hashed))
    return answer


def former_of(db, story):
    """The token of a link that restores the address which Ann has."""
    user = db.get(User, story.ann.id)
    until = clock.now() + timedelta(hours=1)
    former = FormerAddress(
        id=uuid4(), user_id=user.id, key="ann@example.com", email="ann@example.com",
        epoch=user.epoch, expires_at=until,
    )  # fmt: skip
    db.add(former)
    ring = story.site.app.registry["authsite"].keys[links.REVERT]
    return links.revert_token(ring, former.id, until)


RECOVERIES = [reset_by_api, reset_by_page, set_password, not_me, revert]
BY_REQUEST = [each for each in RECOVERIES if each is not set_password]


@pytest.mark.parametrize("recover", RECOVERIES)
def test_l1_a_recovery_forgets_the_browsers_and_addresses_of_before(story, recover):
    """L1: after a reset the intruder's browser was recognized for 30 days."""
    cookie, link = story.intrude()
    recover(story, link)
    story.notices()
    assert story.log_in(cookie=cookie).status_int == 200  # it knows the new password, too
    assert story.notices() == 1
    assert story.log_in(address=INTRUDER).status_int == 200
    assert story.notices() == 1


@pytest.mark.control("L10")
@pytest.mark.parametrize("recover", RECOVERIES)
def test_l1_the_browser_of_before_has_no_attempts_of_its_own(story, recover):
    """L1: with the account locked by others the intruder's browser still had its attempts."""
    cookie, link = story.intrude()
    recover(story, link)
    story.lock()
    for password in ("a guess", story.password):
        assert story.log_in(cookie=cookie, password=password).status_int == 429
        assert story.log_in(address=INTRUDER, password=password).status_int == 429


@pytest.mark.control("L10")
@pytest.mark.parametrize("recover", RECOVERIES)
def test_emptied_counters_bring_no_recognition_back(story, recover):
    """Counts are lost with a Redis, or when an administrator ends them."""
    cookie, link = story.intrude()
    recover(story, link)
    with story.site.db() as db:
        db.execute(delete(LimitCounter))
    story.notices()
    assert story.log_in(cookie=cookie).status_int == 200
    assert story.notices() == 1


@pytest.mark.control("L10")
@pytest.mark.parametrize("recover", BY_REQUEST)
def test_the_browser_and_the_address_of_the_recovery_are_recognized(story, recover):
    _, link = story.intrude()
    story.site.http.reset()
    cookie = device(recover(story, link))
    story.notices()
    story.lock()
    assert story.log_in(address=ELSEWHERE).status_int == 429
    assert story.log_in(cookie=cookie).status_int == 200
    assert story.log_in(address=HOME).status_int == 200
    assert story.notices() == 0


def test_a_refused_reset_recognizes_no_one_and_forgets_no_one(story):
    cookie, _ = story.intrude()
    body = {"email": "ann@example.com", "token": "x", "password": NEW}
    answer = story.site.http.post_json("/v1/password/reset", body, status=422)
    assert device(answer) is None
    story.lock()
    assert story.log_in(cookie=cookie).status_int == 200


def test_a_new_password_of_the_signed_in_user_forgets_nothing(story):
    """Nothing says that the former password is known to anyone else."""
    answer = story.log_in(address=HOME)
    headers = {"Authorization": f"Bearer {answer.json['access_token']}"}
    body = {"current_password": PASSWORD, "password": NEW}
    story.site.http.put_json("/v1/user/password", body, headers=headers, status=200)
    story.password = NEW
    story.lock()
    assert story.log_in(cookie=device(answer)).status_int == 200


def test_a_login_that_began_before_a_reset_recognizes_no_one(story):
    """It has read the version of before, to which its cookie and its address are bound."""
    services = story.site.app.registry["authsite"]
    before = Owner(limit_subject(story.ann.id))
    reset_by_api(story, None)
    recognized.remember(services.rate_limits, before, INTRUDER)
    cookie = recognized.new_cookie(services.keys["device"], before, None)
    story.lock()
    assert story.log_in(cookie=cookie).status_int == 429
    assert story.log_in(address=INTRUDER).status_int == 429


def test_the_cookie_has_the_time_of_the_first_recognition(story, frozen):
    services = story.site.app.registry["authsite"]
    owner = Owner(limit_subject(story.ann.id))

    def since(cookie, owner=owner):
        ring = services.keys["device"]
        return recognized.decode_cookie(ring, owner, cookie, clock.now()).since

    first = int(clock.now().timestamp())
    cookie = device(story.log_in(address=HOME))
    for _ in range(3):
        frozen.advance(20 * 86400)
        cookie = device(story.log_in(cookie=cookie))
        assert since(cookie) == first
    recovered = device(reset_by_api(story, None))
    assert since(recovered, owner._replace(version=1)) == int(clock.now().timestamp())


def test_a_version_is_for_one_user(story):
    story.site.user("bob@example.com")
    cookie, _ = story.intrude()
    bob = partial(story.log_in, name="bob@example.com", password=PASSWORD)
    reset_by_api(story, None)
    bobs = device(bob(address=HOME))
    assert bobs
    story.lock()
    assert story.log_in(cookie=bobs).status_int == 429
    assert bob(cookie=cookie, address=HOME).status_int == 200


@pytest.mark.parametrize("prevent", ["false", "true"])
def test_a_known_and_an_unknown_name_cost_the_same_statements(site_with, frozen, prevent):
    site = site_with(**LIMITS, **WEB, prevent_enumeration=prevent)
    site.first_party("web")
    site.user()
    costs = []
    for name in ("warm-up@example.com", "ann@example.com", "no-one@example.com"):
        form = {"username": name, "password": "not this one"}
        with counted(site.database) as seen:
            site.http.post(LOGIN, form, status=400)
        costs.append(len(seen))
    assert costs[1] == costs[2]  # the first request opens connections


def test_after_a_restored_backup_no_browser_is_recognized(story):
    """The version in the backup may be one that a reset has ended since."""
    cookie, _ = story.intrude()
    with story.site.db() as db:
        user_data.end_all_sign_ins(db)
    assert story.log_in(cookie=cookie).status_int == 200
    assert story.notices() == 1
