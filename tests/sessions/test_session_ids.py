"""When a browser's session id changes (finding L2)."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import select, update

from authsite.sign_in.sessions.models import BrowserSession
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD

NEW = "purple wolf 77 tea"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def ann(site):
    site.user()
    site.user("bo@example.com")
    sign_in(site)
    return site


def key(site):
    return site.http.cookies["authsite"]


def status_with(site, session_key):
    """The status of the account page for a browser with this session."""
    site.http.reset()
    site.http.set_cookie("authsite", session_key)
    return site.http.get("/account", status="*").status_int


def the_session(site):
    """The one row of a browser session."""
    with site.db() as db:
        return db.scalars(select(BrowserSession)).one()


@pytest.mark.parametrize(("who", "same"), [("ann@example.com", True), ("bo@example.com", False)])
def test_a_new_login_ends_the_former_key_and_keeps_the_session_of_the_same_user(ann, who, same):
    """L2: a copy of the former cookie opens nothing. A reauthentication keeps the session."""
    former, before = key(ann), the_session(ann)
    answer = submit(ann, "/login", page="/account", username=who, password=PASSWORD)
    assert answer.status_int == 303
    after = the_session(ann)
    assert (after.id == before.id) is same
    assert (after.created_at == before.created_at) is same
    assert after.auth_at > before.auth_at
    assert ann.events().count("session.ended") == (0 if same else 1)
    assert ann.events().count("session.begun") == 2
    present = key(ann)
    assert status_with(ann, former) == 302
    assert status_with(ann, present) == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"expires_at": LONG_AGO},
        {"used_at": LONG_AGO, "remember": False},
        {"user_epoch": -1},
    ],
)
def test_a_session_that_has_ended_does_not_go_on(ann, changes):
    before = the_session(ann)
    with ann.db() as db:
        db.execute(update(BrowserSession).values(changes))
    sign_in(ann)
    assert the_session(ann).id != before.id


def test_a_reauthentication_decides_again_how_long_the_browser_stays_signed_in(site):
    site.user()
    sign_in(site, remember="1")
    before = the_session(site)
    answer = submit(site, "/login", page="/account", username="ann@example.com", password=PASSWORD)
    [cookie] = [c for c in answer.headers.getall("Set-Cookie") if c.startswith("authsite=")]
    assert "Max-Age=" not in cookie
    after = the_session(site)
    assert (after.id, after.remember) == (before.id, False)
    assert after.expires_at < before.expires_at


def test_a_login_that_fails_leaves_the_session(ann):
    submit(ann, "/login", page="/account", username="ann@example.com", password="wrong 123 wrong")
    assert status_with(ann, key(ann)) == 200


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/account/password", {"current_password": PASSWORD, "password": NEW}),
        ("/account/sessions/end-others", {}),
    ],
)
def test_a_session_that_outlives_all_others_gets_a_new_id(ann, path, fields):
    """L2: a stolen cookie is useless, though the browser stays signed in."""
    former = key(ann)
    assert submit(ann, path, page="/account", **fields).status_int == 303
    present = key(ann)
    assert present != former
    assert status_with(ann, former) == 302
    assert status_with(ann, present) == 200


@pytest.mark.parametrize("remember", [True, False])
def test_the_cookie_of_the_new_id_lasts_as_long_as_the_former(site, remember):
    site.user()
    sign_in(site, **({"remember": "1"} if remember else {}))
    answer = submit(site, "/account/sessions/end-others", page="/account")
    [cookie] = [c for c in answer.headers.getall("Set-Cookie") if c.startswith("authsite=")]
    assert ("Max-Age=" in cookie) is remember
