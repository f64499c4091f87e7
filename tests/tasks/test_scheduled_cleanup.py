"""The scheduled cleanup: when it purges, that one runs at a time, and what stops it."""

from datetime import timedelta
from threading import Event

import pytest
from sqlalchemy import update
from structlog.testing import capture_logs

from authsite.oauth.models import Family
from authsite.platform.db import batches
from authsite.platform.runtime import clock
from authsite.platform.tasks import cleanup as scheduled_cleanup
from authsite.platform.tasks.background import Lock, held, own_connection
from authsite.platform.tasks.cleanup import Step, Waits, run, steps
from tests.support import databases
from tests.support.purging import Script, nothing

LEAST, MOST = Waits().regular


def expired(site, count):
    """``count`` families whose tokens have expired."""
    keys = site.client("personal")
    for _ in range(count):
        site.token(keys, grant_type="client_credentials")
    with site.db() as db:
        db.execute(update(Family).values(refresh_expires_at=clock.now() - timedelta(days=1)))


def worked(site, *actions, **more):
    """Run a cleanup that does one of ``actions`` at each wait, then ends: its log, its waits."""
    stop = Script(*actions, **more)
    with capture_logs() as log:
        run(site.app.registry["authsite"], stop, Waits())
    return log, stop.waits


def test_it_purges_some_minutes_after_the_start_and_then_every_hour(site):
    expired(site, 3)
    log, waits = worked(site, nothing, lambda: expired(site, 2))
    assert [(each["event"], each["families"]) for each in log] == [("purged", 3), ("purged", 2)]
    assert 120 <= waits[0] <= 300
    assert [LEAST <= wait <= MOST for wait in waits] == [False, True, True]


def test_a_cleanup_is_one_log_line_with_a_count_for_each_part(site):
    expired(site, 3)
    [line], _ = worked(site, nothing)
    assert line.pop("seconds") >= 0
    assert line.pop("slowest_batch_ms") >= 0
    assert line == {
        "event": "purged", "log_level": "info", "whole": True,
        "families": 3, "personal_tokens": 0, "sessions": 0, "pending_logins": 0,
        "mails": 0, "former_addresses": 0, "released_usernames": 0,
        "used_ids": 0, "stored_requests": 0,
        "signing_keys": 0,
        "authorization_codes": 0, "denied_requests": 0, "device_codes": 0, "remembered_browsers": 0,
        "users": 0, "unconfirmed": 0, "invitations": 0, "unused_clients": 0,
        "counters": 0, "audit": 0,
    }  # fmt: skip


def test_after_each_batch_the_database_has_a_rest_several_times_as_long(site):
    expired(site, 1)
    with own_connection(site.database) as connection:
        step = next(
            step for step in steps(connection, site.app.registry["authsite"]) if step.deleted
        )
    assert step.deleted == 1
    assert step.rest == pytest.approx(4 * step.seconds + 0.0001)
    assert Step(step.cleanup, 0, 1.0, 0.01).rest == pytest.approx(0.04)
    assert Step(step.cleanup, 1500, 1.0, 0.01).rest == pytest.approx(0.19)
    assert Step(step.cleanup, 1, 1.0, 3.0).rest == 1.0


def test_while_one_is_the_leader_the_others_try_every_hour(site):
    expired(site, 1)
    with own_connection(site.database) as other, held(other, Lock.LEADER) as ours:
        assert ours
        log, waits = worked(site, nothing, nothing, nothing)
    assert log == []
    assert [LEAST <= wait <= MOST for wait in waits] == [False, True, True, True]
    log, _ = worked(site, nothing)
    assert [each["families"] for each in log] == [1]


def test_the_leader_keeps_its_lock_between_cleanups_and_not_that_of_the_cleanup(site):
    expired(site, 1)
    seen = {"between": [], "in": []}

    def try_locks(when):
        with (
            own_connection(site.database) as other,
            held(other, Lock.LEADER) as leader,
            held(other, Lock.CLEANUP) as cleanup,
        ):
            seen[when].append((leader, cleanup))

    worked(site, *[lambda: try_locks("between")] * 3, at_rest=lambda: try_locks("in"))
    assert seen["between"] == [(True, True), (False, True), (False, True)]
    assert set(seen["in"]) == {(False, False)}


def test_while_a_command_purges_the_leader_skips_its_cleanup(site):
    expired(site, 1)
    with own_connection(site.database) as other, held(other, Lock.CLEANUP):
        log, _ = worked(site, nothing)
    assert [each["event"] for each in log] == ["purge_skipped"]
    assert len(site.families()) == 1


def test_a_lock_is_free_again_after_its_block_and_after_its_connection(site):
    with own_connection(site.database) as first, own_connection(site.database) as second:
        with held(first, Lock.CLEANUP) as ours:
            assert ours
            with held(second, Lock.CLEANUP) as also:
                assert not also
            with held(second, Lock.LEADER) as another:
                assert another
        with held(second, Lock.CLEANUP) as ours:
            assert ours
    with (
        pytest.raises(RuntimeError),
        own_connection(site.database) as first,
        held(first, Lock.CLEANUP),
    ):
        raise RuntimeError
    with own_connection(site.database) as second, held(second, Lock.CLEANUP) as ours:
        assert ours


def test_the_connection_of_a_leader_is_not_in_the_pool(site):
    with own_connection(site.database):
        assert site.database.autocommit.pool.checkedout() == 0


def test_a_database_that_is_away_is_one_line_in_the_log_and_one_when_it_is_back(site_with):
    site = site_with()
    expired(site, 2)
    gone = databases.away(site.database)

    def back():
        gone.__exit__(None, None, None)

    log, waits = worked(site, gone.__enter__, nothing, nothing, back)
    assert [each["event"] for each in log] == ["cleanup_failed", "purged", "cleanup_recovered"]
    assert log[0]["reason"] == "OperationalError"
    assert "exc_info" not in log[0]
    assert log[1]["families"] == 2
    assert [60 <= wait <= 120 for wait in waits[1:4]] == [True, True, True]


def test_a_connection_that_was_lost_between_cleanups_is_replaced_silently(site):
    if site.database.autocommit.dialect.name != "postgresql":
        pytest.skip("SQLite has no connections to lose")
    expired(site, 2)
    log, waits = worked(site, nothing, lambda: databases.hang_up(site.database))
    assert [each["event"] for each in log] == ["purged", "purged"]
    assert [LEAST <= wait <= MOST for wait in waits[1:]] == [True, True]


def test_a_connection_that_is_lost_in_a_cleanup_ends_it_and_not_the_task(site):
    if site.database.autocommit.dialect.name != "postgresql":
        pytest.skip("SQLite has no connections to lose")
    expired(site, 2)
    losses = [lambda: databases.hang_up(site.database)]
    log, _ = worked(site, nothing, nothing, at_rest=lambda: losses and losses.pop()())
    assert [each["event"] for each in log] == ["cleanup_failed", "purged", "cleanup_recovered"]


def test_a_bug_is_logged_once_with_its_traceback(site, monkeypatch):
    monkeypatch.setattr(scheduled_cleanup, "steps", lambda *_: 1 / 0)
    log, _ = worked(site, nothing, nothing, nothing)
    assert [each["event"] for each in log] == ["cleanup_failed"]
    assert isinstance(log[0]["exc_info"], ZeroDivisionError)


def test_a_cleanup_that_is_stopped_ends_after_the_current_batch(site, monkeypatch):
    monkeypatch.setattr(batches, "ROWS", 40)
    monkeypatch.setattr(batches, "PAGES", 1)
    expired(site, 200)

    def end_once_some_are_gone():
        rests.append(len(site.families()))
        if rests[-1] < 200:
            stop.set()

    rests, stop = [], Script(nothing, nothing, at_rest=end_once_some_are_gone)
    with capture_logs() as log:
        run(site.app.registry["authsite"], stop, Waits())
    [line] = log
    assert line["whole"] is False
    assert 0 < line["families"] == 200 - len(site.families()) < 200
    assert rests.count(rests[-1]) == 1  # it did not go on after that


def test_a_task_that_is_stopped_before_its_first_cleanup_does_nothing(site):
    expired(site, 1)
    stop = Event()
    stop.set()
    run(site.app.registry["authsite"], stop, Waits())
    assert len(site.families()) == 1
