"""When a browser's session id changes (finding L2)."""

import pytest
from sqlalchemy import select

from authsite.sessions.models import BrowserSession
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD

NEW = "purple wolf 77 tea"


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


@pytest.mark.parametrize("who", ["ann@example.com", "bo@example.com"])
def test_a_new_login_ends_the_former_session_of_the_browser(ann, who):
    """L2: whoever holds the former id is signed out, whoever logs in."""
    former = key(ann)
    answer = submit(ann, "/login", page="/account", username=who, password=PASSWORD)
    assert answer.status_int == 303
    with ann.db() as db:
        assert len(db.scalars(select(BrowserSession.id)).all()) == 1
    assert ann.events().count("session.ended") == 1
    present = key(ann)
    assert status_with(ann, former) == 302
    assert status_with(ann, present) == 200


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
    """L2: a stolen cookie is no use any more, though the browser stays signed in."""
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
