"""`database-read-url`: a standby accepts what it shows in time, and the primary does the rest."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from sqlalchemy import select

from authsite.checks.features import standby_findings
from authsite.platform.db import standbys as standby_of
from authsite.platform.db.migrate import Heartbeat
from authsite.platform.settings import Secret
from authsite.platform.tasks.background import BACKGROUND_TASKS
from tests.support import databases, personal
from tests.support.pages import sign_in
from tests.support.postgres import cluster
from tests.support.site import bearer
from tests.support.standbys import (
    LAG,
    build,
    by_standby,
    caught_up,
    get,
    host,
    only,
    replay_paused,
    replicated,
    with_ann,
)  # fmt: skip
from tests.support.statements import counted

LONG_LAG = 3  # seconds, elsewhere: a busy machine may stop for a while
PATIENCE = 1.0  # seconds for an answer: four times as long as usual


@pytest.fixture(scope="module")
def servers():
    with replicated() as made:
        yield made


@pytest.fixture(scope="module")
def of_module(servers):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(standby_of, "ANSWER_TIMEOUT", PATIENCE)
        with host(*servers, lag=LONG_LAG) as site:
            yield site


@pytest.fixture
def site(of_module, servers):
    """The host, with Ann, whose token the standby has, and which it may be asked for."""
    databases.empty(of_module.database)
    of_module.new_browser()
    return with_ann(of_module, servers[0])


@pytest.mark.both_databases
def test_without_the_setting_there_are_no_standbys_and_no_heartbeats(host_with):
    site = host_with(build)
    services = site.app.registry["authsite"]
    assert services.standbys is None
    guards = site.app.registry["authsite.guards"].by_name.values()
    assert [guard.standbys for guard in guards] == [None, None]
    assert BACKGROUND_TASKS.of(services)["heartbeats"].job is None


def test_a_standby_answers_guards_and_forward_auth(site):
    with by_standby(site):
        answer = site.http.get("/api", headers=bearer(site.ann), status=200)
    assert answer.text == "hello ann@example.com"
    with by_standby(site):
        site.http.get("/v1/guard/api", headers=bearer(site.ann), status=204)


def test_a_standby_answers_for_browsers(site, servers):
    sign_in(site)
    caught_up(site, servers[0])
    with by_standby(site):
        assert site.http.get("/web", status=200).text == "hello ann@example.com"
    with by_standby(site):
        site.http.get("/v1/guard/web", status=204)
    with by_standby(site):
        site.http.get("/v1/guard/web?anonymous=1", status=204)


def test_a_standby_answers_introspection(site, servers):
    resource = site.client("resource-server")
    caught_up(site, servers[0])
    with by_standby(site):
        answer = site.introspect(resource, site.ann)
    assert answer["active"]
    assert answer["email"] == "ann@example.com"


def test_a_standby_answers_for_personal_tokens(site, servers):
    resource, token = site.client("resource-server"), personal.created(site, site.ann)
    assert get(site, token) == 200  # the first use is written, on the primary
    caught_up(site, servers[0])
    with by_standby(site):
        assert get(site, token) == 200
    with by_standby(site):
        assert site.introspect(resource, token)["active"]


def test_the_row_of_a_process_that_has_ended_is_deleted(site):
    standbys, ended = site.app.registry["authsite"].standbys, uuid4()
    written_at = datetime.now(UTC) - timedelta(hours=2)
    with site.db() as db:
        db.add(Heartbeat(process=ended, moment=1, written_at=written_at))
    standbys.delete_ended()
    with site.db() as db:
        [row] = db.scalars(select(Heartbeat))
    assert row.process != ended


def test_the_primary_decides_on_what_may_change_something_and_for_our_own_api(site):
    with only():
        assert site.http.post("/api", headers=bearer(site.ann), status=200)
        site.me(site.ann)


def test_before_a_refusal_the_primary_is_asked(site, servers):
    with only(answered=1), counted(site.database) as statements:
        assert get(site, site.ann, "/scoped") == 403
    assert [each for each in statements if "heartbeats" not in each] != []
    with replay_paused(servers[1]):
        token = site.login(site.keys)["access_token"]  # which the standby does not have
        with only(no_row=1):
            assert get(site, token) == 200


def test_a_secret_that_the_standby_does_not_have_yet_is_accepted(site, servers):
    with replay_paused(servers[1]):
        resource = site.client("resource-server")
        with only(no_row=1):
            assert site.introspect(resource, site.ann)["active"]
    with only(answered=1):
        wrong = resource.__class__(site.keys.client_id, "not the secret")
        site.introspect(wrong, site.ann, status=401)


def accepted_after_revocation(site, servers, resource):
    """Revoke a token while the standby replays nothing; whether it was accepted afterwards."""
    primary, standby = servers
    token = site.login(site.keys)["access_token"]
    caught_up(site, primary)
    with replay_paused(standby):
        assert get(site, token) == 200
        revoked_before = site.logout(token) and time.monotonic()
        accepted, end = [], revoked_before + LAG + 0.5
        while (began := time.monotonic()) < end:
            if get(site, token) == 200 or site.introspect(resource, token)["active"]:
                accepted.append(began - revoked_before)
        assert max(accepted, default=0) <= LAG
        assert site.app.registry["authsite"].standbys.reading() is None
    return bool(accepted)


@pytest.mark.parametrize("cache", ["0s", "1s"])
def test_a_standby_that_stops_replaying_accepts_for_the_lag_at_most(servers, cache):
    primary, standby = servers
    with host(primary, standby, guard_cache=cache) as site:
        with_ann(site, primary)
        resource = site.client("resource-server")
        # A machine that stops for a second accepts nothing after the revocation.
        assert any(accepted_after_revocation(site, servers, resource) for _ in range(5))
        # It is asked again when it has caught up.
        site.ann = site.login(site.keys)["access_token"]
        caught_up(site, primary)
        with by_standby(site):
            assert get(site, site.ann) == 200


def test_a_standby_that_hangs_delays_no_second_request(site, servers):
    with servers[1].frozen():
        began = time.monotonic()
        assert get(site, site.ann) == 200
        assert 0.9 * PATIENCE < time.monotonic() - began < PATIENCE + 2
        with only(unavailable=5):
            for _ in range(5):
                assert get(site, site.ann) == 200
    caught_up(site, servers[0])
    with by_standby(site):
        assert get(site, site.ann) == 200


def test_a_standby_that_is_gone_refuses_nothing(site, servers):
    primary, standby = servers
    standby.stop()
    assert [get(site, site.ann) for _ in range(3)] == [200, 200, 200]
    standby.start()
    caught_up(site, primary)
    with by_standby(site):
        assert get(site, site.ann) == 200


@pytest.mark.slow
def test_of_several_standbys_each_is_asked_and_a_promoted_one_no_more(servers):
    primary, standby = servers
    with cluster() as other:
        other.follow(primary)
        with host(primary, standby, other) as site:
            with_ann(site, primary)
            both = site.app.registry["authsite"].standbys.all
            asked = [each.name for each in both if _answers(site, each)]
            assert asked == [f"127.0.0.1:{standby.port}", f"127.0.0.1:{other.port}"]
            other.promote()
            site.logout(site.ann)
            revoked_at = time.monotonic()
            time.sleep(LAG)
            while time.monotonic() < revoked_at + LAG + 0.5:
                assert get(site, site.ann) == 401
            assert [each.ready for each in both] == [True, False]


def test_the_doctor_says_which_standbys_are_of_use(site, servers):
    primary, standby = servers
    services = site.app.registry["authsite"]
    settings = replace(services.settings, database_read_lag=timedelta(seconds=LAG))
    services = replace(services, settings=settings)
    [fine] = standby_findings(services)
    assert fine.state == "ok"
    assert f"127.0.0.1:{standby.port} replays, and is " in fine.message
    with replay_paused(standby):
        site.user("bob@example.com")
        [behind] = standby_findings(services)
    assert behind.state == "change"
    assert "is more than 1s behind" in behind.message
    ports = 1, primary.port
    urls = tuple(Secret(primary.url.replace(str(primary.port), str(each))) for each in ports)
    services = replace(services, settings=replace(services.settings, database_read_url=urls))
    gone, writes = standby_findings(services)
    assert (gone.state, writes.state) == ("wrong", "wrong")
    assert "127.0.0.1:1 cannot be asked (" in gone.message
    assert "accepts writes" in writes.message


def _answers(site, standby):
    """Whether the standby answers some of a few requests."""
    taken, take = [], standby.take
    standby.take = lambda: taken.append(1) or take()
    for _ in range(4):
        with by_standby(site):
            assert get(site, site.ann) == 200
    del standby.take
    return 0 < len(taken) < 4
