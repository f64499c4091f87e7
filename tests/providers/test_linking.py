"""Linking, confirming and unlinking by the signed-in user, on the account page and by API."""

import time
from uuid import UUID

import pytest
from sqlalchemy import update

from authsite.platform.runtime import clock
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.providers.people import arrive, identities, send, signed_in_as
from tests.support.identities import linked
from tests.support.mails import text_of
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD, WEB, bearer

NEW = "purple wolf 77 tea"


@pytest.fixture
def google(providers):
    return providers("google")


@pytest.fixture
def github(providers):
    return providers("github")


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


def without_password(site, user):
    with site.db() as db:
        db.execute(update(User).where(User.id == user.id).values(password_hash=None))


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
    """Trap S7: a password or another identity of a provider in the settings; nothing else."""
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


def confirmed(site, user):
    """All browser sessions of the user have just been confirmed at a provider."""
    with site.db() as db:
        of_user = update(BrowserSession).where(BrowserSession.user_id == user.id)
        db.execute(of_user.values(confirmed_at=clock.now()))


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


def test_the_api_lists_and_removes_identities_and_answers_without_a_password_with_401(
    site_of, google
):
    site = site_of(google)
    ann, keys = site.user(confirmed=True), site.client()
    headers = bearer(site.login(keys)["access_token"])
    bo = site.user("bo@example.com")
    with site.db() as db:
        row = linked(db, ann.id, issuer=google.issuer)
        linked(db, bo.id)
    [listed] = site.http.get("/v1/user/identities", headers=headers).json
    assert listed == {
        "id": str(row.id), "provider": "google", "label": "Google", "email": "ann@gmail.com",
        "created_at": clock.rfc3339(row.created_at), "last_used_at": None,
    }  # fmt: skip
    path = f"/v1/user/identities/{row.id}"
    answer = site.http.delete_json(path, {}, headers=headers, status=422)
    assert (answer.json["errors"][0]["code"], answer.json["errors"][0]["field"]) == (
        "required", "current_password",
    )  # fmt: skip
    own = {"current_password": PASSWORD}
    site.http.delete_json(f"/v1/user/identities/{UUID(int=0)}", own, headers=headers, status=404)
    without_password(site, ann)
    for method, sensitive in (
        ("DELETE", path),
        ("DELETE", "/v1/user"),
        ("POST", "/v1/user/export"),
    ):
        refused = site.http.request(
            sensitive, method=method, headers=headers, body=b"{}",
            content_type="application/json", status=401,
        )  # fmt: skip
        assert refused.json["errors"][0]["code"] == "insufficient_user_authentication"
        assert refused.headers["WWW-Authenticate"] == (
            'Bearer error="insufficient_user_authentication", max_age=600'
        )
    with site.db() as db:
        db.get(User, ann.id).password_hash = ann.password_hash
    site.http.delete_json(path, own, headers=headers, status=204)
    assert site.http.get("/v1/user/identities", headers=headers).json == []


def test_a_confirmation_in_a_browser_is_no_proof_for_an_access_token(site_of, google):
    site = site_of(google)
    ann, keys = site.user(confirmed=True), site.client()
    headers = bearer(site.login(keys)["access_token"])
    with site.db() as db:
        row = linked(db, ann.id, issuer=google.issuer)
    sign_in(site)
    without_password(site, ann)
    confirmed(site, ann)
    site.http.delete_json(f"/v1/user/identities/{row.id}", {}, headers=headers, status=401)


def test_an_application_lists_the_providers_of_the_settings(site_of, google, github):
    site = site_of(github, google, **WEB)
    assert site.http.get("/v1/clients/web/providers").json == [
        {"name": "github", "label": "GitHub", "start_url": "http://localhost/login/with/github"},
        {"name": "google", "label": "Google", "start_url": "http://localhost/login/with/google"},
    ]
    site.http.get("/v1/clients/unknown/providers", status=404)


def test_a_login_with_a_password_of_a_user_who_has_none_is_answered_and_counted_as_a_wrong_one(
    site_of, google, hashes
):
    site = site_of(google, limits="on", **WEB)
    ann, _bo = site.user(confirmed=True), site.user("bo@example.com", confirmed=True)
    keys = site.first_party("web")
    with site.db() as db:
        linked(db, ann.id, issuer=google.issuer)
    without_password(site, ann)
    seen = {}
    for name in ("ann@example.com", "bo@example.com"):
        hashes.clear()
        by_token = [site.try_login(keys, username=name) for _ in range(6)]
        given = {"username": name, "password": "not this one"}
        by_proxy = site.http.post_json("/v1/clients/web/login", given, status="*")
        answers = [(each.status_int, each.json["error"]) for each in (*by_token, by_proxy)]
        seen[name] = (answers, len(hashes))
    assert seen["ann@example.com"] == seen["bo@example.com"]
    notices = {mail["To"]: text_of(mail) for mail in site.mails()}
    assert "with: Google." in notices["ann@example.com"]
    assert "without a password" not in notices["bo@example.com"]
    form = submit(site, "/password/forgot", email="ann@example.com")
    assert form.status_int == 303
    [mail] = [each for each in site.mails() if "/password/reset/" in text_of(each)]
    assert mail["To"] == "ann@example.com"
