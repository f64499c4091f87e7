"""Seals of the audit trail: who makes them, over what, and what does not verify any more."""

import threading
from datetime import timedelta

import pytest
from sqlalchemy import delete, insert, text, update
from structlog.testing import capture_logs

from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.seals import sealing
from authsite.platform.audit.seals.seal import audit_keys
from authsite.platform.audit.seals.stored import SEALS
from authsite.platform.audit.seals.table import last_number
from authsite.platform.audit.seals.verification import LoggedSeal, Summary, seals_in_log
from authsite.platform.db import batches
from authsite.platform.runtime import clock
from authsite.platform.tasks.background import Lock, held, own_connection
from tests.support.purging import Script, nothing
from tests.support.sealing import add, change, problems, seal_all, seals

pytestmark = pytest.mark.control("D05")


@pytest.fixture
def sealed(site, monkeypatch):
    """Ten events in three seals of at most four; their ids."""
    monkeypatch.setattr(batches, "ROWS", 4)
    site.ids = add(site, 10)
    seal_all(site)
    return site


def test_seals_cover_all_events_in_the_order_of_their_ids(sealed):
    made = seals(sealed)
    assert [(each.id, each.rows) for each in made] == [(1, 4), (2, 4), (3, 2)]
    assert [each.first_id for each in made] == sealed.ids[::4]
    assert [each.last_id for each in made] == [*sealed.ids[3::4], sealed.ids[-1]]
    summary = Summary()
    assert problems(sealed, summary=summary) == []
    assert (summary.seals, summary.rows, summary.unsealed) == (3, 10, 0)
    add(sealed, 1)
    assert seal_all(sealed, seconds=-60) == []  # the event is younger than a minute
    assert [each.rows for each in seal_all(sealed)] == [1]
    assert problems(sealed) == []


CHANGES = {
    "an event is changed": (2, update(AuditEvent).values(address="203.0.113.7")),
    "details are changed": (2, update(AuditEvent).values(details={"name": "y"})),
    "a time is changed": (2, update(AuditEvent).values(at=clock.now() + timedelta(hours=1))),
    "an event is deleted": (2, delete(AuditEvent)),
}


@pytest.mark.both_databases
@pytest.mark.parametrize("what", CHANGES)
def test_the_segment_of_an_event_that_was_changed_or_deleted_is_found(sealed, what):
    seal, statement = CHANGES[what]
    change(sealed, statement.where(AuditEvent.id == sealed.ids[5]))
    [found] = problems(sealed)
    assert (found.seal, found.first_id, found.last_id) == (seal, sealed.ids[4], sealed.ids[7])
    assert ("1 of 4 events are missing" in found.text) == ("deleted" in what)


def test_an_event_that_is_slipped_in_later_with_an_old_id_is_found(site, monkeypatch):
    first, second, _ = add(site, 3)
    change(site, delete(AuditEvent).where(AuditEvent.id == second))  # as after a rollback
    seal_all(site)
    assert problems(site) == []
    change(site, insert(AuditEvent).values(id=second, at=clock.now(), event="login.failed"))
    [found] = problems(site)
    assert (found.seal, found.text) == (1, "1 events were added to 2")
    assert seal_all(site) == []  # and is not sealed later
    change(site, delete(AuditEvent).where(AuditEvent.id == second))
    change(site, insert(AuditEvent).values(id=first - 1, at=clock.now(), event="login.failed"))
    assert [each.seal for each in problems(site)] == [1]


def test_a_changed_or_deleted_seal_is_found(sealed):
    second = SEALS.c.id == 2
    mac = seals(sealed)[1].mac
    change(sealed, update(SEALS).where(second).values(mac="0" * 64))
    assert [each.seal for each in problems(sealed)] == [2]
    change(sealed, update(SEALS).where(second).values(mac=mac, rows=3))
    assert [each.seal for each in problems(sealed)] == [2]
    change(sealed, delete(SEALS).where(second))
    [found] = problems(sealed)
    assert found.text == "seal 2 is missing, and no purge has deleted them"
    change(sealed, delete(AuditEvent).where(AuditEvent.id.in_(sealed.ids[:8])))
    change(sealed, delete(SEALS).where(SEALS.c.id < 3))
    [found] = problems(sealed)  # the beginning is missing, as after a purge that was none
    assert (found.seal, found.last_id) == (1, sealed.ids[7])
    change(sealed, update(SEALS).values(purged_mac="0" * 64))
    assert [each.seal for each in problems(sealed)] == [1]


def test_an_end_that_is_cut_off_with_its_seals_shows_in_comparison_with_the_log(site):
    with capture_logs() as log:
        for _ in range(3):
            add(site, 2)
            seal_all(site)
    assert [each["event"] for each in log] == ["audit_sealed"] * 3
    logged = [LoggedSeal(each["seal"], each["mac"]) for each in log]
    assert problems(site, logged) == []
    third = seals(site)[2]
    change(site, delete(AuditEvent).where(AuditEvent.id >= third.first_id))
    change(site, delete(SEALS).where(SEALS.c.id == 3))
    assert problems(site) == []  # nothing else can tell
    [found] = problems(site, logged)
    assert found.seal == 3
    add(site, 1)
    seal_all(site)  # a new third seal
    [found] = problems(site, logged)
    assert found.text == "the log has another seal with this number: it was replaced"


def test_of_two_that_seal_at_the_same_time_one_ends(site, monkeypatch):
    monkeypatch.setattr(batches, "ROWS", 4)
    add(site, 10)
    with site.database.autocommit.connect() as connection:
        now = clock.now() + sealing.AGE + timedelta(seconds=1)
        one = sealing.seal_events(connection, audit_keys(site.cfg), now)
        assert next(one).id == 1
        assert [each.id for each in seal_all(site)] == [2, 3]
        assert list(one) == []
    assert [each.rows for each in seals(site)] == [4, 4, 2]
    assert problems(site) == []


def test_numbers_that_somebody_else_has_used_do_not_prolong_a_key(sealed):
    forged = seals(sealed)[-1]._asdict() | dict.fromkeys(("at", "newest_at"), clock.now())
    change(sealed, insert(SEALS).values([forged | {"id": number} for number in range(4, 100)]))
    add(sealed, 1)
    [made] = seal_all(sealed)
    assert made.id == 100
    change(sealed, delete(SEALS).where(SEALS.c.id > 3, SEALS.c.id < 100))
    with sealed.database.autocommit.connect() as connection:
        assert last_number(connection, audit_keys(sealed.cfg)) == 4


def test_events_without_a_seal_are_reported_after_an_hour(site, frozen):
    add(site, 2)
    frozen.advance(3600)
    assert problems(site) == []
    frozen.advance(1)
    [found] = problems(site)
    assert "2 events have no seal" in found.text


def test_the_log_is_read_in_both_formats():
    mac = "ab" * 32
    lines = [
        f'{{"event": "audit_sealed", "seal": 7, "last_id": 9, "mac": "{mac}"}}',
        f'Nov 23 host authsite: {{"event": "audit_sealed", "seal": 8, "mac": "{mac}"}}',
        f"2031-05-17T09:30:00Z [info] audit_sealed last_id=12 mac={mac} rows=3 seal=9",
        f"event='audit_sealed' seal=11 last_id=15 rows=3 mac='{mac}'",
        '{"event": "request", "path": "audit_sealed", "seal": 10, "mac": "x"}',
        "{broken audit_sealed",
        "nothing",
        f'{{"event": "request", "path": "x event=audit_sealed seal=2 mac={mac}"}}',
        f"2031-05-17T09:30:00Z [info] request path='audit_sealed seal=3 mac={mac}'",
        f"2031-05-17T09:30:00Z [info] request reason=x audit_sealed seal=3 mac={mac}",
        f"2031-05-17T09:30:00Z [info] audit_sealed mac={mac} seal={'9' * 5000}",
        f'{{"event": "audit_sealed", "seal": {"9" * 5000}, "mac": "{mac}"}}',
        f'{{"event": "audit_sealed", "seal": "²", "mac": "{mac}"}}',
        '{"event": "audit_sealed", "seal": 4, "mac": "é"}',
        "audit_sealed {" + '{"a":' * 5000,
    ]
    assert list(seals_in_log(lines)) == [LoggedSeal(number, mac) for number in (7, 8, 9, 11)]


def test_of_two_that_seal_one_makes_the_seal_and_the_other_ends(sealed, monkeypatch):
    add(sealed, 3)
    real = sealing.read_segment

    def overtaken(*arguments, **more):
        monkeypatch.setattr(sealing, "read_segment", real)
        assert [each.id for each in seal_all(sealed)] == [4]
        return real(*arguments, **more)

    monkeypatch.setattr(sealing, "read_segment", overtaken)
    assert seal_all(sealed) == []
    assert [each.id for each in seals(sealed)] == [1, 2, 3, 4]
    assert problems(sealed) == []


def test_a_sealer_that_ends_between_two_seals_is_continued_by_the_next(site, monkeypatch):
    monkeypatch.setattr(batches, "ROWS", 4)
    add(site, 10)
    now = clock.now() + timedelta(minutes=2)
    with site.database.autocommit.connect() as connection:
        next(sealing.seal_events(connection, sealing.audit_keys(site.cfg), now))
    assert [each.rows for each in seals(site)] == [4]
    assert problems(site) == []
    assert [each.rows for each in seal_all(site)] == [4, 2]
    assert problems(site) == []


def test_on_postgresql_an_event_that_is_committed_late_is_no_alarm(site, monkeypatch):
    if site.database.autocommit.dialect.name != "postgresql":
        pytest.skip("SQLite has one writer at a time")
    with site.db() as late:
        late.execute(text("INSERT INTO audit_events (at, event) VALUES (now(), 'late')"))
        add(site, 2)  # larger ids, committed before
        with monkeypatch.context() as patched:
            patched.setattr(sealing, "WRITERS_TIMEOUT", 0.2)
            assert seal_all(site) == []
        waiting = threading.Thread(target=seal_all, args=(site,))
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
    waiting.join()
    [seal] = seals(site)
    assert seal.rows == 3
    assert problems(site) == []


def test_the_task_seals_every_minute_and_one_process_at_a_time(site, frozen):
    keys = sealing.audit_keys(site.cfg)

    def run(*actions):
        stop = Script(*actions)
        with capture_logs() as log:
            sealing.run(site.database, keys, stop)
        return [each["event"] for each in log], stop.waits

    add(site, 1)
    frozen.advance(61)
    log, waits = run(nothing, nothing)
    assert log == ["audit_sealed"]
    assert all(60 <= wait <= 70 for wait in waits)
    add(site, 1)
    counts = []
    log, _ = run(nothing, lambda: counts.append(len(seals(site))))
    assert counts == [1]  # another one has sealed less than a minute ago
    assert log == ["audit_sealed"]  # at its end it seals what is there
    add(site, 1)
    frozen.advance(120)
    with own_connection(site.database) as other, held(other, Lock.SEALING):
        assert run(nothing)[0] == []
    assert run(nothing)[0] == ["audit_sealed"]


@pytest.mark.control("D05")
@pytest.mark.parametrize("again", [False, True])
def test_m1_the_task_notices_that_the_seal_it_has_seen_is_gone(site, frozen, again):
    """Also where what was falsified is within the hour, so that the seal of it is not late."""
    keys = sealing.audit_keys(site.cfg)

    def launder():
        change(site, delete(SEALS))
        change(site, update(AuditEvent).values(address="9.9.9.9"))
        if again:
            seal_all(site)  # another process has made one with this number
        frozen.advance(61)

    add(site, 1)
    frozen.advance(61)
    with capture_logs() as log:
        sealing.run(site.database, keys, Script(nothing, nothing, launder, nothing))
    [deleted] = [each for each in log if each["event"] == "audit_seal_deleted"]
    [first] = [each for each in log if each["event"] == "audit_sealed"][:1]
    assert (deleted["seal"], deleted["mac"]) == (1, first["mac"])
    assert deleted["log_level"] == "error"
    assert problems(site) == []  # which nothing else shows
