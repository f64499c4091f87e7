"""When a token or session was used last: noted by the guard, written in batches, to the hour."""

import threading
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import func, select, update

from authsite.oauth.models import Family
from authsite.oauth.tokens.active import FAMILIES
from authsite.platform.db.last_used import BATCH, MAX_NOTES
from authsite.platform.runtime import clock
from authsite.sign_in.sessions import models as last_used_task
from authsite.sign_in.sessions.models import BrowserSession
from tests.support import databases
from tests.support.pages import sign_in
from tests.support.site import bearer
from tests.support.statements import counted

HOUR = 60 * 60
IDLE_TIMEOUT = timedelta(hours=12)  # the default of session-idle


@pytest.fixture
def tracker(site):
    return site.app.registry["authsite"].last_used


@pytest.fixture
def later(tracker, monkeypatch):
    """The notes, as in a server process: a thread writes them, which in these tests is the test."""
    monkeypatch.setattr(tracker, "wake", threading.Event())
    return tracker


def log_in(site):
    site.user()
    return site.login(site.client())["access_token"]


def listed_session(site, token):
    [found] = site.http.get("/v1/user/sessions", headers=bearer(token)).json["sessions"]
    return found


def used_at(site, model=Family):
    with site.database.autocommit.connect() as connection:
        return connection.scalar(select(model.used_at))


def insert_families(site, count):
    """Copies of the only family, with other ids; returns the ids."""
    ids = [uuid4() for _ in range(count)]
    with site.database.transactional.begin() as connection:
        one = connection.execute(select(FAMILIES)).mappings().one()
        connection.execute(FAMILIES.insert(), [{**one, "id": id} for id in ids])
    return ids


def test_a_listed_session_has_the_last_use_of_its_token(site, frozen):
    token = log_in(site)
    assert listed_session(site, token)["last_used"] == "2031-05-17T09:30:00Z"
    frozen.advance(2 * HOUR)
    site.me(token)
    assert listed_session(site, token)["last_used"] == "2031-05-17T11:00:00Z"
    frozen.advance(HOUR / 2)
    assert listed_session(site, token)["last_used"] == "2031-05-17T12:00:00Z"


def test_a_refresh_is_a_use_to_the_second(site, frozen):
    site.user()
    keys = site.client()
    tokens = site.login(keys)
    frozen.advance(2 * HOUR)
    site.me(tokens["access_token"])
    frozen.advance(61)
    tokens = site.refresh(keys, tokens["refresh_token"])
    assert listed_session(site, tokens["access_token"])["last_used"] == "2031-05-17T11:31:01Z"


def test_a_listed_session_has_the_last_use_of_its_browser(site, frozen):
    token = log_in(site)
    sign_in(site)
    frozen.advance(2 * HOUR)
    site.http.get("/account", status=200)
    listed = site.http.get("/v1/user/sessions", headers=bearer(token)).json["sessions"]
    [browser] = [each for each in listed if each["kind"] == "browser"]
    assert browser["last_used"] == "2031-05-17T11:00:00Z"


def test_without_a_thread_only_the_first_request_of_an_hour_writes(site, frozen):
    token = log_in(site)
    for hour in range(3):
        with counted(site.database) as statements:
            for _ in range(5):
                site.me(token)
        words = [statement.split()[0] for statement in statements]
        assert words == (["SELECT", "WITH"] + ["SELECT"] * 4 if hour else ["SELECT"] * 5)
        frozen.advance(HOUR)


def test_with_a_thread_no_request_writes(site, frozen, later):
    token = log_in(site)
    sign_in(site)
    frozen.advance(2 * HOUR)
    with counted(site.database) as statements:
        site.me(token)
        site.http.get("/account", status=200)
    assert [s.split()[0] for s in statements] == ["SELECT"] * len(statements)
    assert used_at(site) is None
    with counted(site.database) as statements:
        assert later.write()
    assert [s.split()[0] for s in statements] == ["WITH", "WITH"]
    assert used_at(site) == used_at(site, BrowserSession) == clock.now().replace(minute=0)


def test_many_notes_are_a_few_statements(site, frozen, later):
    log_in(site)
    ids = insert_families(site, 3 * BATCH - 7)
    before = clock.now()
    frozen.advance(HOUR)
    for id in ids * 2:
        later.note(FAMILIES, id, before, clock.now())
    with counted(site.database) as statements:
        assert later.write()
    assert len(statements) == 3
    with site.database.autocommit.connect() as connection:
        assert connection.scalar(select(func.count(Family.used_at))) == len(ids)


def test_what_another_process_wrote_meanwhile_stands(site, frozen, later):
    token = log_in(site)
    frozen.advance(2 * HOUR)
    site.me(token)
    newer = clock.now() + timedelta(hours=1)
    with site.database.transactional.begin() as connection:
        connection.execute(update(Family).values(used_at=newer))
    assert later.write()
    assert used_at(site) == newer


def test_what_cannot_be_written_waits(site, frozen, later):
    token = log_in(site)
    frozen.advance(2 * HOUR)
    site.me(token)
    with databases.away(site.database):
        assert not later.write()
        assert not later.write()
    assert used_at(site) is None
    assert later.write()
    assert used_at(site) == clock.now().replace(minute=0)


def test_notes_never_grow_beyond_their_bound(site, frozen, later):
    at = clock.now()
    for _ in range(2 * MAX_NOTES + 1):
        later.note(FAMILIES, uuid4(), at - timedelta(hours=1), at)
    with counted(site.database) as statements:
        assert later.write()
    assert len(statements) == MAX_NOTES / BATCH


@pytest.mark.parametrize(
    ("idle_for", "remember", "at_once"),
    [
        (IDLE_TIMEOUT - timedelta(minutes=2), None, True),
        (IDLE_TIMEOUT / 2, None, False),
        (IDLE_TIMEOUT * 2, "1", False),
    ],
)
@pytest.mark.control("S03")
def test_a_use_just_before_the_idle_end_is_written_at_once(
    site, frozen, later, idle_for, remember, at_once
):
    site.user()
    sign_in(site, **({"remember": remember} if remember else {}))
    frozen.advance(idle_for.total_seconds())
    site.http.get("/account", status=200)
    assert later.wake.is_set() is at_once


@pytest.mark.control("S03")
def test_a_session_in_use_outlives_its_first_idle_end(site, frozen, later):
    site.user()
    sign_in(site)
    for _ in range(5):
        frozen.advance(IDLE_TIMEOUT.total_seconds() - HOUR)
        site.http.get("/account", status=200)
        later.write()
    frozen.advance(IDLE_TIMEOUT.total_seconds())
    site.http.get("/account", status=302)


def test_the_thread_writes_when_it_is_woken_and_once_more_at_its_end(site, frozen, later):
    token = log_in(site)
    stop = threading.Event()
    running = threading.Thread(target=last_used_task.run, args=(later, later.wake, stop))
    frozen.advance(2 * HOUR)
    site.me(token)
    running.start()
    last_used_task.end(later.wake, stop)
    running.join(last_used_task.STOP_TIMEOUT)
    assert not running.is_alive()
    assert used_at(site) == clock.now().replace(minute=0)


def test_a_process_that_ends_before_its_thread_has_begun_writes_all_the_same(site, frozen, later):
    token = log_in(site)
    stop = threading.Event()
    frozen.advance(2 * HOUR)
    site.me(token)
    last_used_task.end(later.wake, stop)
    last_used_task.run(later, later.wake, stop)
    assert used_at(site) == clock.now().replace(minute=0)
