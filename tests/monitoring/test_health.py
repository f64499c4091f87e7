"""GET /healthz and /readyz: is the process up, can it work."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import column, table

from authsite.platform.db.migrate import VERSION_TABLE
from authsite.platform.runtime import clock
from tests.support import databases, newer
from tests.support.site import Site

pytestmark = pytest.mark.both_databases

READY = {"status": "ready", "problems": []}


@pytest.fixture
def own(fresh_url):
    """A site on a separate database, whose schema a test may change."""
    site = Site(databases.migrated(fresh_url))
    yield site
    site.database.dispose()


def again(site):
    """A site that has read nothing yet."""
    site.database.dispose()
    return Site(site.url)


def readiness(site, status):
    answer = site.http.get("/readyz", status=status)
    assert answer.content_type == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    return answer.json


def set_revision(site, revision):
    with site.database.transactional.begin() as connection:
        connection.execute(
            table(VERSION_TABLE, column("version_num")).update(), {"version_num": revision}
        )


def test_a_process_is_healthy_and_ready(site):
    assert site.http.get("/healthz").json == {"status": "ok"}
    assert readiness(site, 200) == READY


@pytest.mark.control("X04")
def test_with_the_database_away_a_process_is_healthy_and_not_ready(own):
    with databases.away(own.database):
        assert own.http.get("/healthz").json == {"status": "ok"}
        answer = own.http.get("/readyz", status=503)
        assert answer.json == {"status": "not ready", "problems": ["database"]}
        assert answer.headers["Retry-After"] == "2"
    assert readiness(again(own), 200) == READY


def test_a_process_is_ready_soon_after_the_database_is_back(own):
    with databases.away(own.database):
        readiness(own, 503)
    for _ in range(100):
        if own.http.get("/readyz", status="*").status_int == 200:
            return
        own.app.registry["authsite.monitoring"].health.forget()
    pytest.fail("it never became ready")


def test_an_old_schema_is_not_ready_and_a_newer_one_is(own, tmp_path):
    behind = {"status": "not ready", "problems": ["schema behind"]}
    with newer.known(tmp_path):
        assert readiness(own, 503) == behind
    set_revision(own, "0033")  # of before the first release
    own.app.registry["authsite.monitoring"].health.forget()
    assert readiness(own, 503) == behind
    set_revision(own, newer.REVISION)
    assert readiness(again(own), 200) == READY


def test_a_database_without_a_schema_is_not_ready(fresh_url):
    site = Site(fresh_url)
    assert readiness(site, 503)["problems"] == ["schema behind"]
    site.database.dispose()


def test_probes_ask_the_database_once_a_second(own):
    assert readiness(own, 200) == READY
    with databases.away(own.database):
        assert readiness(own, 200) == READY  # what was read a moment ago
        own.app.registry["authsite.monitoring"].health.forget()
        readiness(own, 503)


@pytest.mark.parametrize(
    ("off", "problems"),
    [
        (timedelta(seconds=55), []),
        (timedelta(seconds=-55), []),
        (timedelta(seconds=65), ["clock: 65 s ahead of the database's"]),
        (timedelta(days=-1), ["clock: 86400 s behind the database's"]),
    ],
)
def test_a_clock_that_is_off_is_named_and_the_process_stays_ready(own, monkeypatch, off, problems):
    now = clock.now
    monkeypatch.setattr(clock, "now", lambda: now() + off)
    assert readiness(own, 200) == {"status": "ready", "problems": problems}
    text = own.http.get("/metrics", extra_environ={"REMOTE_ADDR": "127.0.0.1"}).text
    offset = float(re.search(r"^authsite_clock_offset_seconds (\S+)$", text, re.MULTILINE)[1])
    assert abs(offset - off.total_seconds()) < 4


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_these_routes_are_checked_like_all_others(site, path):
    local = {"REMOTE_ADDR": "127.0.0.1"}
    assert site.http.head(path, extra_environ=local).body == b""
    assert site.http.post(path, status=405).headers["Allow"] == "GET, HEAD"
    assert site.http.delete(path, status=405).headers["Allow"] == "GET, HEAD"
    site.http.get(path, headers={"Host": "a b"}, status=400)
    answer = site.http.get(path, extra_environ=local)
    assert "Set-Cookie" not in answer.headers
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Request-Id"]
