"""Seals that were made long after their events: falsified trails that authsite has sealed again."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete, insert, literal_column, select, update
from structlog.testing import capture_logs

from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.seals.late import NotAcceptable, accept, some_late
from authsite.platform.audit.seals.proofs import late_mac_of
from authsite.platform.audit.seals.seal import AuditKey, audit_keys, keys_in_hex
from authsite.platform.audit.seals.stored import SEALS
from authsite.platform.audit.seals.verification import Summary, unaccepted, verified
from authsite.platform.crypto.keys import key_of
from authsite.platform.db import batches
from authsite.platform.db.transaction import snapshot_on
from authsite.platform.runtime import clock
from tests.support.acting import acting
from tests.support.home import initialized
from tests.support.purging import purged
from tests.support.sealing import add, change, problems, seal_all, seals
from tests.support.site import Site

pytestmark = pytest.mark.control("D05")


@pytest.fixture
def trail(site_with, monkeypatch, frozen):
    """Twelve events in three seals that were made in time, five days ago."""
    monkeypatch.setattr(batches, "ROWS", 4)
    site = site_with(audit_keep="365d")
    now = datetime.now(UTC)  # that of the database's clock, for the events of acceptances
    frozen.at = now - timedelta(days=5)
    add(site, 12)
    seal_all(site)
    frozen.at = now
    assert late(site) == problems(site) == []
    return site


def late(site, keys=None):
    """The numbers of the late seals that are not accepted, as `audit verify` names them."""
    keys, summary = keys or audit_keys(site.cfg), Summary()
    with site.database.autocommit.connect() as connection, snapshot_on(connection):
        list(verified(connection, keys, summary))
        return [each.seal for each in unaccepted(connection, keys, summary)]


def late_for_doctor(site):
    with site.database.autocommit.connect() as connection:
        return [each.id for each in some_late(connection, audit_keys(site.cfg))]


def falsify(site):
    """M1: what an attacker who can write to the database does first."""
    change(site, delete(AuditEvent).where(AuditEvent.event == "e1"))
    change(site, update(AuditEvent).values(address="9.9.9.9"))


def accepted(site, number, reason="A reason."):
    with site.db() as db:
        return accept(acting(db, site.app.registry["authsite"]), number, reason)


def test_m1_a_falsified_trail_that_authsite_seals_again_does_not_verify(trail):
    falsify(trail)
    assert problems(trail)
    change(trail, delete(SEALS))
    with capture_logs() as log:
        purged(trail)
    assert problems(trail) == []  # all of it is sealed again
    assert late(trail) == late_for_doctor(trail) == [1, 2, 3]
    [restarted] = [each for each in log if each["event"] == "audit_chain_restarted"]
    assert (restarted["log_level"], restarted["seal"]) == ("error", 1)


def test_m1_so_do_the_newest_seals_alone(trail):
    change(trail, update(AuditEvent).where(AuditEvent.event == "e9").values(address="9.9.9.9"))
    before = seals(trail)
    change(trail, delete(SEALS).where(SEALS.c.id > 1))
    with capture_logs() as log:
        seal_all(trail)
    assert [each.id for each in seals(trail)] == [each.id for each in before]
    assert problems(trail) == []
    assert late(trail) == late_for_doctor(trail) == [2, 3]
    events = [each["event"] for each in log]
    assert "audit_chain_restarted" not in events
    assert events.count("audit_sealed_late") == 2


def test_one_old_event_among_new_ones_is_enough(trail):
    add(trail, 1)
    add(trail, 1, days=1)
    seal_all(trail)
    assert late(trail) == [4]
    assert problems(trail) == []


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("dialect", "times"),
    [("sqlite", ["x", "", "2026-11-24 x", "2999"]), ("postgresql", ["-infinity", "infinity"])],
)
def test_an_event_with_a_time_that_cannot_be_read_counts_as_old(trail, dialect, times):
    if not trail.url.startswith(dialect):
        pytest.skip("these are times of the other database")
    for number, time in enumerate(times, start=4):
        [id_, *_] = add(trail, 4)
        with trail.database.autocommit.connect() as connection:
            connection.exec_driver_sql(
                f"UPDATE audit_events SET at = '{time}' WHERE id = {id_}"  # noqa: S608
            )
        seal_all(trail)
        assert late(trail)[-1] == number


def test_an_accepted_seal_is_no_problem_and_its_acceptance_is_sealed(trail):
    falsify(trail)
    change(trail, delete(SEALS))
    seal_all(trail)
    assert accepted(trail, 1)
    assert accepted(trail, 3)
    assert not accepted(trail, 1)  # it was already
    assert late(trail) == late_for_doctor(trail) == [2]
    seal_all(trail)
    assert late(trail) == [2]
    assert problems(trail) == []
    with trail.db() as db:
        written = select(AuditEvent).where(AuditEvent.event == "audit.late_accepted")
        found = db.scalars(written.order_by(AuditEvent.id)).all()
    assert [event.details["seal"] for event in found] == ["1", "3"]
    assert found[0].details["reason"] == "A reason."


def test_an_acceptance_holds_for_no_other_seal_of_the_same_number(trail):
    change(trail, delete(SEALS))
    seal_all(trail)
    for number in (1, 2, 3):
        accepted(trail, number)
    falsify(trail)
    change(trail, delete(SEALS))
    seal_all(trail)
    assert late(trail) == late_for_doctor(trail) == [1, 2, 3]


def test_nobody_without_the_key_accepts(trail):
    falsify(trail)
    change(trail, delete(SEALS))
    seal_all(trail)
    forged = key_of(b"x" * 32)
    for seal in seals(trail):
        details = {"seal": str(seal.id), "mac": seal.mac, "reason": "none"}
        for proof in ("", seal.mac, late_mac_of(forged, seal.id, seal.mac)):
            row = {"at": clock.now(), "event": "audit.late_accepted"}
            change(trail, insert(AuditEvent).values(**row, details={**details, "proof": proof}))
    change(trail, insert(AuditEvent).values(**row, details=["no", "object"]))
    not_ours = '{"seal": 1e400, "mac": "", "proof": ""}', '{"seal": "no", "mac": "é", "proof": "é"}'
    for text in not_ours:
        change(trail, insert(AuditEvent).values(**row, details=literal_column(f"'{text}'")))
    assert late(trail) == [1, 2, 3]


def test_a_key_that_was_replaced_accepts_nothing_later(trail, site_with):
    change(trail, delete(SEALS))
    seal_all(trail)
    accepted(trail, 1)
    add(trail, 4)
    seal_all(trail)
    [former] = audit_keys(trail.cfg)
    newer = (AuditKey(key_of(b"y" * 32)), former.ending(4))
    assert 1 not in late(trail, newer)  # the acceptance is in seal 4
    assert 1 in late(trail, (newer[0], former.ending(3)))
    assert "@4" in keys_in_hex(newer)


def test_only_a_late_seal_that_authsite_has_made_can_be_accepted(trail):
    for number, words in ((1, "is not late"), (99, "no seal 99")):
        with pytest.raises(NotAcceptable, match=words):
            accepted(trail, number)
    change(trail, delete(SEALS))
    seal_all(trail)
    change(trail, update(SEALS).where(SEALS.c.id == 1).values(rows=3))
    with pytest.raises(NotAcceptable, match="no seal 1"):
        accepted(trail, 1)


def test_a_purge_deletes_late_seals_too_and_then_they_are_reported_no_more(trail, frozen):
    change(trail, delete(SEALS))
    seal_all(trail)
    frozen.advance(365 * 86400)
    add(trail, 1)
    purged(trail)
    assert late(trail) == late_for_doctor(trail) == []
    assert problems(trail) == []


def test_what_was_sealed_within_the_hour_is_not_late(trail, frozen):
    add(trail, 2)
    frozen.advance(3599)
    seal_all(trail, seconds=0)
    assert late(trail) == late_for_doctor(trail) == []


def test_m1_the_commands(tmp_path):
    home = initialized(tmp_path)
    site = Site(home.url, secret=home.variables()["AUTHSITE_SECRET"])
    add(site, 3, days=5)
    home.run("purge", "--yes", status=None)
    home.run("purge")
    refused = home.run("audit", "verify", status=1).stdout
    assert "the oldest event was 5 days old when the seal was made" in refused
    assert "authsite audit accept-late 2 --reason" in refused
    assert "audit accept-late" in home.run("doctor", status=1).stdout
    for wrong in (["2"], ["x", "--reason", "y"], ["2", "--reason", " "], ["1", "--reason", "y"]):
        assert home.run("audit", "accept-late", *wrong, status=None).returncode > 0
    assert home.json("audit", "accept-late", "2", "--reason", "Stopped.") == {"accepted": [2]}
    said = home.run("audit", "accept-late", "2-2", "--reason", "Stopped.").stdout
    assert "already" in said
    shown = home.json("audit", "verify")
    assert (shown["ok"], shown["unsealed"]) == (True, 0)  # the acceptance is sealed at once
    home.run("doctor")
    site.database.dispose()


def test_what_a_command_records_is_sealed_at_once(tmp_path):
    """So that a service which starts days later makes no late seal."""
    home = initialized(tmp_path)
    shown = home.json("audit", "verify")
    assert (shown["seals"], shown["events"], shown["unsealed"]) == (1, 1, 0)
    home.run("client", "create", "--name", "x", "--type", "personal")
    shown = home.json("audit", "verify")
    assert (shown["seals"], shown["events"], shown["unsealed"]) == (2, 2, 0)
    home.run("client", "list")
    assert home.json("audit", "verify")["seals"] == 2
