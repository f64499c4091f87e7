"""An attacker with the database changes events and seals: verify finds it, purge stops."""

from datetime import timedelta

import pytest
from sqlalchemy import delete, insert, select, update
from structlog.testing import capture_logs

from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.seals.stored import SEALS
from authsite.platform.db import batches
from authsite.platform.runtime import clock
from tests.support.purging import purged
from tests.support.sealing import add, change, problems, seal_all, seals

pytestmark = pytest.mark.control("D05")
HIGHEST = 2**63 - 1


@pytest.fixture
def old(site_with, monkeypatch):
    """Two seals of old events, and one of young ones; the ids of all."""
    monkeypatch.setattr(batches, "ROWS", 4)
    site = site_with(audit_keep="30d")
    site.ids = [*add(site, 8, days=50), *add(site, 3)]
    seal_all(site)
    return site


def write(site, table, values, id_=None):
    """Store values that SQLAlchemy would refuse."""
    where = f" WHERE id = {id_}" if id_ else ""
    with site.database.autocommit.connect() as connection:
        connection.exec_driver_sql(f"UPDATE {table} SET {values}{where}")  # noqa: S608


def events(site):
    with site.db() as db:
        return db.scalars(select(AuditEvent.id).order_by(AuditEvent.id)).all()


def forge(site, **values):
    """Insert a seal like the newest one, with other values."""
    with site.database.autocommit.connect() as connection:
        row = connection.execute(select(SEALS).order_by(SEALS.c.id.desc()).limit(1)).mappings()
        connection.execute(insert(SEALS), dict(row.one()) | values)


def unchecked(site, statement):
    """Change something that a constraint would refuse, as far as the database lets."""
    with site.database.autocommit.connect() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement)


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("seal", "values"),
    [(3, {"newest_at": clock.now() - timedelta(days=60)}), (1, {"last_id": 7}), (2, {"rows": 3})],
)
def test_the_purge_deletes_nothing_behind_a_changed_seal(old, seal, values):
    add(old, 1)
    if "last_id" in values:
        values = {"last_id": old.ids[8]}
    change(old, update(SEALS).where(SEALS.c.id == seal).values(**values))
    found = [each.seal for each in problems(old)]
    assert found == [seal]
    with capture_logs() as log:
        purged(old)
    assert "audit_purge_refused" in [each["event"] for each in log] or seal == 3
    assert events(old)[-4:-1] == old.ids[8:]  # the young ones
    if seal < 3:
        assert len(events(old)) >= 8
    assert seal in [each.seal for each in problems(old)]


def test_the_purge_does_not_hide_an_event_that_was_deleted_or_changed_before(old):
    for statement in (
        update(AuditEvent).where(AuditEvent.id == old.ids[1]).values(event="x"),
        delete(AuditEvent).where(AuditEvent.id == old.ids[1]),
    ):
        change(old, statement)
        with capture_logs() as log:
            assert purged(old) == {}
        [refused] = [each for each in log if each["event"] == "audit_purge_refused"]
        assert (refused["seal"], refused["log_level"]) == (1, "error")
        assert [each.seal for each in problems(old)] == [1]


def test_nobody_without_the_key_makes_the_purge_delete(old):
    """A seal with an old time that covers everything, or the proof of a purge."""
    add(old, 1)
    before, past = events(old), clock.now() - timedelta(days=90)
    forge(old, id=4, last_id=before[-1], newest_at=past, purged_mac="0" * 64)
    assert [each.seal for each in problems(old)] == [4]
    purged(old)
    assert events(old)[-4:] == before[-4:]
    assert 4 in [each.seal for each in problems(old)]


@pytest.mark.both_databases
@pytest.mark.parametrize("id_", [-1, 0])
def test_a_seal_has_a_positive_number(old, id_):
    with pytest.raises(Exception, match=r"ck_audit_seals|CHECK"):
        forge(old, id=id_)
    if old.database.autocommit.dialect.name != "sqlite":
        return
    unchecked(old, update(SEALS).where(SEALS.c.id == 1).values(id=id_))
    assert id_ in [each.seal for each in problems(old)]
    assert purged(old) == {}


@pytest.mark.parametrize("values", [{"id": 4, "last_id": HIGHEST}, {"id": HIGHEST}])
def test_a_forged_seal_does_not_end_the_sealing(old, values):
    forge(old, **values)
    add(old, 2)
    [made] = seal_all(old)
    assert (made.id, made.rows) == (5 if values["id"] == 4 else 4, 2)
    assert next(each.seal for each in problems(old)) == values["id"]
    add(old, 1)
    assert [each.id for each in seal_all(old)] == [made.id + 1]
    assert {each.seal for each in problems(old)} == {values["id"]}
    assert len(seals(old)) == 6


def test_sealing_goes_on_after_an_event_or_a_seal_that_cannot_be_read(old):
    later = add(old, 3)
    deep = f"details = '{'[' * 3000}{']' * 3000}'"
    if old.database.autocommit.dialect.name == "postgresql":
        moment, values = "'infinity'", [deep, "at = 'infinity'", "at = '-infinity'"]
    else:
        moment, values = "X'FF'", [deep, "at = 'x'", "event = X'00FF'"]
    for id_, value in zip(later, values, strict=True):
        write(old, "audit_events", value, id_)
    assert sum(each.rows for each in seal_all(old)) == 3
    assert problems(old) == []
    write(old, "audit_events", values[1], old.ids[0])
    write(old, "audit_events", deep, old.ids[5])
    assert [each.seal for each in problems(old)] == [1, 2]
    write(old, "audit_seals", f"newest_at = {moment}, at = {moment}", 3)
    assert [each.seal for each in problems(old)] == [1, 2, 3]
    assert purged(old) == {}


SPELLINGS = {
    "sqlite": [
        "user_id = upper(user_id)",
        "at = replace(at, ' ', 'T')",
        "event = event || char(0) || 'x'",
        "event = CAST(event AS BLOB)",
        "details = 'null'",
    ],
    "postgresql": ["at = CAST(CAST(at AS text) || ' BC' AS timestamptz)", "details = 'null'"],
}


def test_another_spelling_of_a_value_is_another_value(site):
    add(site, 1)
    with site.database.autocommit.connect() as connection:
        at = connection.exec_driver_sql("SELECT CAST(at AS text) FROM audit_events").scalar()
    former = f"user_id = '{'abcdef' * 5}ab', details = '{{\"a\": 1}}', at = '{at}', event = 'e0'"
    write(site, "audit_events", former)
    seal_all(site)
    assert problems(site) == []
    more = ["""details = '{"a": 2, "a": 1}'""", "details = NULL"]
    for value in [*SPELLINGS[site.database.autocommit.dialect.name], *more]:
        write(site, "audit_events", value)
        assert [each.seal for each in problems(site)] == [1], value
        write(site, "audit_events", former)
        assert problems(site) == [], value


def test_an_event_with_the_lowest_id_is_found(site):
    add(site, 2)
    seal_all(site)
    change(site, insert(AuditEvent).values(id=-HIGHEST - 1, at=clock.now(), event="x"))
    assert [each.text for each in problems(site)] == ["1 events were added to 2"]
