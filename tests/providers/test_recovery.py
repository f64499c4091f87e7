"""What recovers an account removes the identities that an intruder may have linked."""

import re

import pytest
from sqlalchemy import update

from authsite.users.models import User
from tests.providers.people import arrive, identities, signed_in_as
from tests.support.identities import linked
from tests.support.mails import link_in, text_of, token_in
from tests.support.pages import hidden_in, sign_in, submit
from tests.support.site import PASSWORD
from tests.verification.story import NEW, OLD, Story

CHOSEN = "a purple wolf at tea 77"

pytestmark = pytest.mark.both_databases


def with_links(site, user):
    """The owner's own identity and three others, of which an intruder may have linked any."""
    with site.db() as db:
        linked(db, user.id, subject="own", email="Ann@Example.com")
        linked(db, user.id, subject="untrusted", email="ann@example.com", trusted=False)
        linked(db, user.id, subject="other address", email=NEW)
        linked(db, user.id, subject="no address", email=None)


def left(site):
    return {row.subject for row in identities(site)}


def new_device_link(site, **environ):
    """The link "This was not me" in the notice of a sign-in from another address."""
    site.http.reset()
    site.http.extra_environ["REMOTE_ADDR"] = "203.0.113.9"
    sign_in(site)
    [mail] = [mail for mail in site.mails() if "/login/not-me/" in text_of(mail)]
    return link_in(mail)


def test_s8_a_reset_keeps_only_trusted_identities_with_the_account_s_address(site):
    ann = site.user(confirmed=True)
    with_links(site, ann)
    token = site.reset_token(ann)
    body = {"email": ann.email, "token": token, "password": CHOSEN}
    site.http.post_json("/v1/password/reset", body)
    assert left(site) == {"own"}
    assert site.events().count("provider.unlinked") == 3


def test_s8_this_was_not_me_keeps_only_those_and_signs_out_a_user_without_password(site_with):
    site = site_with(limits="on")
    ann = site.user(confirmed=True)
    sign_in(site)
    link = new_device_link(site)
    with_links(site, ann)
    with site.db() as db:
        db.execute(update(User).where(User.id == ann.id).values(password_hash=None))
    assert signed_in_as(site)
    page = site.http.get(link)
    assert "Choose a new password" not in page.text  # nothing has ended yet
    answer = submit(site, "/login/not-me", page=link, token=token_in(link))
    assert "Choose a new password" in answer.text
    assert signed_in_as(site) is None
    assert left(site) == {"own"}
    chosen = submit(
        site, "/login/not-me/password", page=link, token=hidden_in(answer, "token"),
        password=CHOSEN,
    )  # fmt: skip
    assert chosen.status_int == 200
    assert left(site) == {"own"}
    sign_in(site, password=CHOSEN)


def test_s8_taking_a_change_of_address_back_keeps_only_those_of_the_restored_address(site):
    story = Story(site)
    revert = story.change()
    with_links(site, story.user)
    page = site.http.get(revert)
    submit(site, re.sub(r"^https?://[^/]+|/[^/]+$", "", revert), page=revert,
           token=hidden_in(page, "token"))  # fmt: skip
    assert story.now().email == OLD
    assert left(site) == {"own"}


def test_s8_an_intruder_s_identity_opens_nothing_after_the_reset(site_of, providers):
    google = providers("google")
    google.claims["email"] = "eve@gmail.com"
    site = site_of(google)
    ann = site.user(confirmed=True)
    with site.db() as db:
        linked(db, ann.id, issuer=google.issuer, subject=google.subject, email="eve@gmail.com")
    arrive(site, google)
    assert "ann@example.com" in signed_in_as(site)
    token = site.reset_token(ann)
    body = {"email": ann.email, "token": token, "password": PASSWORD + " 2"}
    site.http.post_json("/v1/password/reset", body)
    assert signed_in_as(site) is None
    arrive(site, google)
    assert signed_in_as(site) is None
