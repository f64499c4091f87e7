"""The janitor: when it purges, that it does so alone, and what stops it and what does not."""

from datetime import timedelta
from threading import Event

import pytest
from sqlalchemy import update
from structlog.testing import capture_logs

from authsite import clock
from authsite.db import places
from authsite.janitor import thread
from authsite.janitor.lock import Lock, held, own_connection
from authsite.janitor.round import Step, steps
from authsite.janitor.thread import Waits, run
from authsite.oauth.models import Family
from tests.support import databases
from tests.support.purging import Script, nothing

LEAST, MOST = Waits().round


def expired(site, count):
    """So many families that nobody can use any more."""
    keys = site.client("personal")
    for _ in range(count):
        site.token(keys, grant_type="client_credentials")
    with site.db() as db:
        db.execute(update(Family).values(refresh_expires_at=clock.now() - timedelta(days=1)))


def worked(site, *actions, **more):
    """A janitor that does one of ``actions`` at each wait and then ends: its log, its waits."""
    stop = Script(*actions, **more)
    with capture_logs() as log:
        run(site.database, site.cfg, stop, Waits())
    return log, stop.waits


def test_it_purges_some_minutes_after_the_start_and_then_every_hour(site):
    expired(site, 3)
    log, waits = worked(site, nothing, lambda: expired(site, 2))
    assert [(each["event"], each["families"]) for each in log] == [("purged", 3), ("purged", 2)]
    assert 120 <= waits[0] <= 300
    assert [LEAST <= wait <= MOST for wait in waits] == [False, True, True]


def test_a_round_is_one_line_with_a_count_for_each_part(site):
    expired(site, 3)
    [line], _ = worked(site, nothing)
    assert line.pop("seconds") >= 0
    assert line.pop("slowest_batch_ms") >= 0
    assert line == {
        "event": "purged", "log_level": "info", "whole": True,
        "families": 3, "sessions": 0, "mails": 0, "counters": 0, "audit": 0,
    }  # fmt: skip


def test_after_each_batch_the_database_has_a_rest_several_times_as_long(site):
    expired(site, 1)
    with own_connection(site.database) as connection:
        step = next(steps(connection, site.cfg))
    assert step.deleted == 1
    assert step.rest == pytest.approx(4 * step.seconds + 0.0001)
    assert Step(step.part, 0, 1.0, 0.01).rest == pytest.approx(0.04)
    assert Step(step.part, 1500, 1.0, 0.01).rest == pytest.approx(0.19)
    assert Step(step.part, 1, 1.0, 3.0).rest == 1.0


def test_while_one_has_the_duty_the_others_ask_every_hour(site):
    expired(site, 1)
    with own_connection(site.database) as other, held(other, Lock.DUTY) as ours:
        assert ours
        log, waits = worked(site, nothing, nothing, nothing)
    assert log == []
    assert [LEAST <= wait <= MOST for wait in waits] == [False, True, True, True]
    log, _ = worked(site, nothing)
    assert [each["families"] for each in log] == [1]


def test_the_duty_is_kept_between_rounds_and_the_round_is_not(site):
    expired(site, 1)
    seen = {"between": [], "in": []}

    def ask(when):
        with (
            own_connection(site.database) as other,
            held(other, Lock.DUTY) as duty,
            held(other, Lock.ROUND) as round_,
        ):
            seen[when].append((duty, round_))

    worked(site, *[lambda: ask("between")] * 3, at_rest=lambda: ask("in"))
    assert seen["between"] == [(True, True), (False, True), (False, True)]
    assert set(seen["in"]) == {(False, False)}


def test_while_a_command_purges_the_janitor_leaves_it_alone(site):
    expired(site, 1)
    with own_connection(site.database) as other, held(other, Lock.ROUND):
        log, _ = worked(site, nothing)
    assert [each["event"] for each in log] == ["purge_left_to_another"]
    assert len(site.families()) == 1


def test_a_lock_is_free_again_after_its_block_and_after_its_connection(site):
    with own_connection(site.database) as first, own_connection(site.database) as second:
        with held(first, Lock.ROUND) as ours:
            assert ours
            with held(second, Lock.ROUND) as also:
                assert not also
            with held(second, Lock.DUTY) as another:
                assert another
        with held(second, Lock.ROUND) as ours:
            assert ours
    with (
        pytest.raises(RuntimeError),
        own_connection(site.database) as first,
        held(first, Lock.ROUND),
    ):
        raise RuntimeError
    with own_connection(site.database) as second, held(second, Lock.ROUND) as ours:
        assert ours


def test_the_janitor_s_connection_is_not_one_of_the_pool_s(site):
    with own_connection(site.database):
        assert site.database.reader.pool.checkedout() == 0


def test_a_database_that_is_away_is_one_line_in_the_log_and_one_when_it_is_back(site_with):
    site = site_with()
    expired(site, 2)
    gone = databases.away(site.database)

    def back():
        gone.__exit__(None, None, None)

    log, waits = worked(site, gone.__enter__, nothing, nothing, back)
    assert [each["event"] for each in log] == ["janitor_waits", "purged", "janitor_works_again"]
    assert log[0]["reason"] == "OperationalError"
    assert "exc_info" not in log[0]
    assert log[1]["families"] == 2
    assert [60 <= wait <= 120 for wait in waits[1:4]] == [True, True, True]


def test_a_connection_that_was_lost_between_rounds_is_replaced_without_a_word(site):
    if site.database.reader.dialect.name != "postgresql":
        pytest.skip("SQLite has no connections to lose")
    expired(site, 2)
    log, waits = worked(site, nothing, lambda: databases.hang_up(site.database))
    assert [each["event"] for each in log] == ["purged", "purged"]
    assert [LEAST <= wait <= MOST for wait in waits[1:]] == [True, True]


def test_a_connection_that_is_lost_in_a_round_ends_the_round_and_not_the_janitor(site):
    if site.database.reader.dialect.name != "postgresql":
        pytest.skip("SQLite has no connections to lose")
    expired(site, 2)
    losses = [lambda: databases.hang_up(site.database)]
    log, _ = worked(site, nothing, nothing, at_rest=lambda: losses and losses.pop()())
    assert [each["event"] for each in log] == ["janitor_waits", "purged", "janitor_works_again"]


def test_a_bug_is_told_once_and_with_its_traceback(site, monkeypatch):
    monkeypatch.setattr(thread, "steps", lambda *_: 1 / 0)
    log, _ = worked(site, nothing, nothing, nothing)
    assert [each["event"] for each in log] == ["janitor_waits"]
    assert isinstance(log[0]["exc_info"], ZeroDivisionError)


def test_told_to_stop_it_ends_after_the_batch_under_way(site, monkeypatch):
    monkeypatch.setattr(places, "ROWS", 40)
    monkeypatch.setattr(places, "PAGES", 1)
    expired(site, 200)

    def end_once_some_are_gone():
        rests.append(len(site.families()))
        if rests[-1] < 200:
            stop.set()

    rests, stop = [], Script(nothing, nothing, at_rest=end_once_some_are_gone)
    with capture_logs() as log:
        run(site.database, site.cfg, stop, Waits())
    [line] = log
    assert line["whole"] is False
    assert 0 < line["families"] == 200 - len(site.families()) < 200
    assert rests.count(rests[-1]) == 1  # it did not go on after that


def test_told_to_stop_before_its_first_round_it_does_nothing(site):
    expired(site, 1)
    stop = Event()
    stop.set()
    run(site.database, site.cfg, stop, Waits())
    assert len(site.families()) == 1
