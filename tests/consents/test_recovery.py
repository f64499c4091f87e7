"""A recovered account: what third parties were allowed in the last 7 days is withdrawn."""

import subprocess
import sys
from datetime import timedelta

import pytest

from authsite.oauth.consents import service
from tests.support import connected
from tests.support.mails import link_in, token_in
from tests.support.notices import arrive, press, site_of_ann
from tests.support.pages import sign_in, submit
from tests.support.servers import write_ini
from tests.support.site import PASSWORD
from tests.verification.story import OLD, Story

NEW = "purple wolf 77 tea"


@pytest.fixture
def ann(site):
    return site.user(confirmed=True)


@pytest.fixture
def apps(site, ann):
    return allowed(site, ann)


def allowed(site, user):
    """What the user allowed long ago, what an intruder allowed since, and a client of our own."""
    found = {
        name: connected.application(site, name, first_party=name == "own")
        for name in ("old", "new", "own")
    }
    for client_id in found.values():
        connected.allow(site, user, client_id, "openid")
        connected.family(site, user, client_id)
    connected.allowed_before(site, service.RECENT + timedelta(minutes=1), found["old"])
    return found


def is_cleaned(site, apps):
    """Whether exactly the new third party has lost its access, and its tokens."""
    left = {client_id for client_id, _ in connected.consents(site)}
    alive = {row.client_id for row in site.families() if row.revoked_at is None}
    kept = {apps["old"], apps["own"]}
    return left == kept and apps["new"] not in alive and kept <= alive


def test_a_reset_by_mail(site, ann, apps):
    body = {"email": ann.email, "token": site.reset_token(ann), "password": NEW}
    site.http.post_json("/v1/password/reset", body, status=200)
    assert is_cleaned(site, apps)


def test_a_change_of_address_that_is_taken_back(site):
    story = Story(site)
    found = allowed(site, story.user)
    link = story.change()
    assert len(connected.consents(site)) == 3
    submit(site, "/email/change/revert", page=link, token=token_in(link))
    assert story.now().email == OLD
    assert is_cleaned(site, found)


def test_this_was_not_me(site_with):
    site = site_of_ann(site_with)
    [mail] = arrive(site)
    found = allowed(site, site.ann)
    press(site, link_in(mail))
    assert is_cleaned(site, found)


def test_a_password_that_an_administrator_sets(site, ann, apps, tmp_path):
    ini = write_ini(tmp_path, site.url)
    command = [sys.executable, "-m", "authsite", "user", "set-password", ann.email]
    done = subprocess.run(
        [*command, "--password-stdin", "--config", str(ini)],
        input=NEW, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert is_cleaned(site, apps)


def test_a_change_of_the_own_password_withdraws_nothing(site, ann, apps):
    sign_in(site)
    answer = submit(
        site, "/account/password", page="/account", current_password=PASSWORD, password=NEW
    )
    assert answer.status_int == 303, answer
    assert len(connected.consents(site)) == 3
