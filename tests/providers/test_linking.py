"""Linking, confirming and unlinking by the signed-in user, on the account page and by API."""

import time

import pytest
from sqlalchemy import update

from authsite.platform.runtime import clock
from authsite.users.models import User
from tests.providers.people import (
    arrive,
    confirmed,
    identities,
    send,
    signed_in_as,
    without_password,
)
from tests.support.identities import linked
from tests.support.mails import text_of
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD, WEB

NEW = "purple wolf 77 tea"


def link(site, fake, password=PASSWORD, status=200):
    """Connect from the account page: the answer of the return, or of the form if it is refused."""
    fields = {"purpose": "link", "current_password": password}
    page = site.http.get("/account/security", status=200)
    form = {"csrf_token": csrf_of(page), **fields}
    answer = site.http.post(f"/login/with/{fake.name}", form, status=status)
    if status != 200:
        return answer
    url = answer.html.select_one("a.button.primary")["href"]
    return site.http.get(fake.authorize(url), status="*")


def confirm(site, fake):
    page = site.http.get("/account/security", status=200)
    form = {"csrf_token": csrf_of(page), "purpose": "confirm"}
    answer = site.http.post(f"/login/with/{fake.name}", form, status=200)
    return site.http.get(
        fake.authorize(answer.html.select_one("a.button.primary")["href"]), status="*"
    )


def unlink(site, identity, **fields):
    path = f"/account/identities/{identity.id}/unlink"
    return submit(site, path, page="/account/security", **fields)


def person_of(site, fake, email="ann@gmail.com"):
    """A user without a password, confirmed, who has signed in with the provider."""
    user = site.user(email, confirmed=True)
    without_password(site, user)
    with site.db() as db:
        linked(db, user.id, issuer=fake.issuer, subject=fake.subject, email=email)
    arrive(site, fake)
    return user


def rows(site):
    """The words of the section "Sign-in methods"."""
    page = site.http.get("/account/security", status=200)
    section = page.html.select_one("[aria-labelledby=identities]")
    return [" ".join(item.get_text(" ").split()) for item in section.select("li")]


def test_a_signed_in_user_links_an_identity_with_another_address_and_signs_in_with_it(
    site_of, google
):
    site = site_of(google)
    site.user(confirmed=True)
    sign_in(site)
    assert link(site, google).status_int in (200, 303)
    [row] = identities(site)
    assert (row.email, row.provider, row.trusted) == ("ann@gmail.com", "google", True)
    assert rows(site)[0].startswith("Google ann@gmail.com")
    [notice] = [mail for mail in site.mails() if "sign-in method was added" in mail["Subject"]]
    assert notice["To"] == "ann@example.com"
    assert "Google" in text_of(notice)
    assert "provider.linked" in site.events()
    site.http.reset()
    arrive(site, google)
    assert "ann@example.com" in signed_in_as(site)


def test_without_the_right_password_nothing_is_linked(site_of, google):
    site = site_of(google)
    site.user(confirmed=True)
    sign_in(site)
    for wrong in ("", "not my password"):
        link(site, google, wrong, status=422)
    assert identities(site) == []


def test_an_identity_of_another_user_is_refused_and_nothing_changes(site_of, google):
    site = site_of(google)
    other, _ann = site.user("bo@example.com", confirmed=True), site.user(confirmed=True)
    with site.db() as db:
        linked(db, other.id, issuer=google.issuer, subject=google.subject)
    sign_in(site)
    answer = link(site, google)
    assert answer.status_int == 403
    assert [row.user_id for row in identities(site)] == [other.id]


def test_a_link_that_began_before_the_sign_ins_ended_links_nothing(site_of, google):
    site = site_of(google)
    ann = site.user(confirmed=True)
    sign_in(site)
    page = site.http.get("/account/security")
    form = {"csrf_token": csrf_of(page), "purpose": "link", "current_password": PASSWORD}
    answer = site.http.post("/login/with/google", form, status=200)
    with site.db() as db:
        db.execute(update(User).where(User.id == ann.id).values(epoch=User.epoch + 1))
    url = answer.html.select_one("a.button.primary")["href"]
    assert site.http.get(google.authorize(url), status="*").status_int == 400
    assert identities(site) == []


@pytest.mark.both_databases
def test_s7_the_last_way_to_sign_in_stays_and_every_usable_one_counts(site_of, google, github):
    """A password or another identity of a provider in the settings; nothing else."""
    site = site_of(google, github)
    ann = site.user(confirmed=True)
    sign_in(site)
    with site.db() as db:
        mine = linked(db, ann.id, issuer=google.issuer)
        gone = linked(db, ann.id, provider="former")
    without_password(site, ann)
    confirmed(site, ann)
    assert unlink(site, mine).status_int == 409
    assert ["Set a password first" in line for line in rows(site)[:2]] == [True, False]
    with site.db() as db:
        other = linked(db, ann.id, provider="github", issuer=github.issuer)
    assert unlink(site, mine).status_int == 303
    assert unlink(site, gone).status_int == 303
    assert unlink(site, other).status_int == 409
    assert [row.id for row in identities(site)] == [other.id]


def test_unlinking_ends_the_sessions_that_began_with_the_identity_and_no_other(site_of, google):
    site = site_of(google, **WEB)
    ann = site.user("ann@gmail.com", confirmed=True)
    with site.db() as db:
        row = linked(db, ann.id, issuer=google.issuer, subject=google.subject)
    arrive(site, google)
    began = site.http.cookies.copy()
    site.http.reset()
    sign_in(site, "ann@gmail.com")
    site.mails()
    assert unlink(site, row).status_int == 422
    assert unlink(site, row, current_password="not mine").status_int == 422
    assert unlink(site, row, current_password=PASSWORD).location.endswith("?done=disconnected")
    assert identities(site) == []
    [notice] = site.mails()
    assert "removed" in notice["Subject"]
    assert signed_in_as(site)
    site.http.reset()
    for name, value in began.items():
        site.http.set_cookie(name, value)
    assert signed_in_as(site) is None


def test_a_user_without_password_confirms_for_ten_minutes_and_a_sign_in_does_not_count(
    site_of, google, frozen
):
    frozen.set_unix(time.time())
    site = site_of(google)
    google.claims["auth_time"] = int(clock.now().timestamp())
    person_of(site, google)
    page = site.http.get("/account")
    assert "current_password" not in page.text
    assert "Confirm with Google" in page.text
    change = {"email": "new@example.com"}
    answer = submit(site, "/account/email", page="/account", **change)
    assert answer.status_int == 401
    assert "Your account has no password." in answer.text
    before = site.http.cookies.copy()
    assert confirm(site, google).status_int in (200, 303)
    assert site.http.cookies != before  # a new key
    assert submit(site, "/account/email", page="/account", **change).status_int == 303
    assert "provider.confirmed" in site.events()
    frozen.advance(600)
    assert submit(site, "/account/email", page="/account", **change).status_int == 401


@pytest.mark.parametrize("age", [None, 601])
def test_a_return_that_tells_no_recent_authentication_is_no_proof(site_of, google, age):
    site = site_of(google)
    user = person_of(site, google)
    if age:
        google.claims["auth_time"] = int(time.time()) - age
    answer = confirm(site, google)
    assert answer.status_int == 400
    assert "has not told us that you have just signed in there" in answer.text
    assert send(answer, "/account/password/link").status_int == 303  # needs no provider
    assert submit(site, "/account/delete", page="/account").status_int == 401
    assert [row.user_id for row in identities(site)] == [user.id]


def test_an_identity_of_another_user_confirms_nothing(site_of, google):
    site = site_of(google)
    google.claims["auth_time"] = int(time.time())
    person_of(site, google)
    google.subject = "another person"
    assert confirm(site, google).status_int == 403
    assert submit(site, "/account/delete", page="/account").status_int == 401


def test_with_github_alone_the_page_offers_the_mailed_link_that_sets_a_password(site_of, github):
    site = site_of(github)
    user = site.user(confirmed=True)
    with site.db() as db:
        linked(
            db, user.id, provider="github", issuer=github.issuer, subject=str(github.user["id"]),
            email="ann@example.com",
        )  # fmt: skip
    without_password(site, user)
    arrive(site, github)
    page = site.http.get("/account/security")
    assert "Confirm with" not in page.text
    assert send(page, "/account/password/link").status_int == 303
    [mail] = site.mails()
    assert "/password/reset/" in text_of(mail)
