"""How many sessions the list of sign-ins has, and which; the database stops there (attack L9)."""

import re
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select, update

from authsite.oauth.clients import service
from authsite.oauth.models import Client
from authsite.oauth.tokens.active import FAMILIES
from authsite.sign_in.sessions.active import SESSIONS
from tests.support.acting import acting
from tests.support.pages import sign_in
from tests.support.site import bearer
from tests.support.statements import counted

MOST = 100
MINUTE = timedelta(minutes=1)


def multiply(site, table, count, used):
    """``count`` copies of the only row of ``table``; the one that is there was used first of all.

    Copy number n was used n minutes before now, which the column ``used`` says.
    """
    with site.database.transactional.begin() as connection:
        one = dict(connection.execute(select(table)).mappings().one())
        now = one[used]
        connection.execute(update(table).values({used: now - timedelta(hours=11)}))
        rows = [
            {**one, "id": uuid4(), used: now - number * MINUTE, "agent": f"copy {number}"}
            | ({"key_hash": uuid4().hex * 2} if table is SESSIONS else {})
            for number in range(1, count + 1)
        ]
        connection.execute(table.insert(), rows)


@pytest.fixture
def ann(site):
    site.user()
    return site


def listed(site, headers):
    answer = site.http.get("/v1/user/sessions", headers=headers).json
    return answer["sessions"], answer["more"]


def test_l9_the_api_lists_a_hundred_the_current_one_and_those_used_last(ann):
    headers = bearer(ann.login(ann.client())["access_token"])
    multiply(ann, FAMILIES, MOST + 20, "rotated_at")
    sign_in(ann)
    sessions, more = listed(ann, headers)
    assert more is True
    assert len(sessions) == MOST
    assert sessions[0]["current"] is True
    assert sessions[1]["kind"] == "browser"
    assert [session["agent"] for session in sessions[2:]] == [
        f"copy {n}" for n in range(1, MOST - 1)
    ]


def test_l9_a_hundred_are_all(ann):
    headers = bearer(ann.login(ann.client())["access_token"])
    assert listed(ann, headers)[1] is False
    multiply(ann, FAMILIES, MOST - 1, "rotated_at")
    sessions, more = listed(ann, headers)
    assert (len(sessions), more) == (MOST, False)


def test_l9_the_account_page_lists_a_hundred_and_mentions_that_there_are_more(ann):
    sign_in(ann)
    multiply(ann, SESSIONS, MOST + 20, "used_at")
    page = ann.http.get("/account/security").text
    ids = re.findall(r"/account/sessions/([0-9a-f-]{36})/end", page)
    assert len(ids) == len(set(ids)) == MOST - 1  # the header signs out of the present one
    assert page.count("this device") == 1
    assert "These are the 100 most recent." in page


def test_the_account_page_does_not_mention_more_where_there_are_none(ann):
    sign_in(ann)
    multiply(ann, SESSIONS, MOST - 1, "used_at")
    assert "most recent" not in ann.http.get("/account/security").text


@pytest.mark.parametrize("remember", [{}, {"remember": "1"}])
def test_a_session_that_was_idle_for_too_long_is_not_listed(ann, frozen, remember):
    sign_in(ann, **remember)
    ann.http.reset()
    frozen.advance(ann.cfg.session_idle.total_seconds() + 60)
    sign_in(ann)
    page = ann.http.get("/account/security").text
    assert page.count("/account/sessions/") == (2 if remember else 0)  # with "everywhere else"


@pytest.mark.parametrize(
    ("days", "words"),
    [(0, "Active in the last 24 hours"), (1, "Active 1 day ago"), (3, "Active 3 days ago")],
)
def test_a_session_says_which_app_and_device_it_is_and_when_it_was_used(ann, frozen, days, words):
    ann.login(ann.client(name="notes"))
    frozen.advance(days * 86400)
    sign_in(ann)
    present, other = ann.http.get("/account/security").html.select(
        "section[aria-labelledby=sessions] li"
    )
    assert "Active now" in present.text
    assert present.form is None
    assert f"App: notes · {words}" in other.text
    assert "Unknown device" in other.text
    assert other.form


def test_l9_the_database_stops_at_the_limit(ann):
    sign_in(ann)
    headers = bearer(ann.login(ann.client())["access_token"])
    # The page also has the lists of events, of attempts, of identities, of applications and,
    # twice, of passkeys, of which a user has twenty at most.
    for read, count in (
        (lambda: ann.http.get("/account/security"), 8),
        (lambda: listed(ann, headers), 2),
    ):
        with counted(ann.database) as statements:
            read()
        lists = [sql for sql in statements if "ORDER BY" in sql]
        assert len(lists) == count
        assert all("LIMIT" in sql or "FROM passkeys" in sql for sql in lists)


def test_sessions_that_the_client_s_epoch_ended_are_not_listed(ann):
    """A client that was disabled and enabled again: its earlier tokens stay revoked."""
    ended, other = ann.client(name="ended"), ann.client(name="other")
    revoked = ann.login(ended)
    headers = bearer(ann.login(other)["access_token"])
    assert len(listed(ann, headers)[0]) == 2
    with ann.db() as db:
        service.disable(acting(db), UUID(ended.client_id))
    with ann.db() as db:
        service.enable(acting(db), db.get(Client, UUID(ended.client_id)))
    ann.me(revoked["access_token"], status=401)
    assert [session["client"] for session in listed(ann, headers)[0]] == ["other"]
