"""Purges of the audit trail: what is left of it still verifies."""

import pytest
from sqlalchemy import Engine, delete, event, insert, select
from structlog.testing import capture_logs

from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.purge import purge_problem
from authsite.platform.audit.seals.stored import SEALS
from authsite.platform.db import batches
from authsite.platform.runtime import clock
from tests.support.purging import purged
from tests.support.sealing import add, change, problems, seal_all, seals

pytestmark = pytest.mark.control("D05")


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)  # SQLite has one writer
def test_an_event_that_is_added_during_a_purge_is_not_deleted(site_with):
    site = site_with(audit_keep="30d")
    add(site, 3, days=50)
    seal_all(site)
    add(site, 1)
    added = []

    def add_before(_connection, _cursor, statement, *_rest):
        if statement.startswith("DELETE FROM audit_events") and not added:
            added.append(statement)
            change(site, insert(AuditEvent).values(id=0, at=clock.now(), event="added"))

    event.listen(Engine, "before_cursor_execute", add_before)
    try:
        with capture_logs() as log:
            assert purged(site) == {}
    finally:
        event.remove(Engine, "before_cursor_execute", add_before)
    assert "audit_purge_refused" in [line["event"] for line in log]
    with site.db() as db:
        assert len(db.scalars(select(AuditEvent.id)).all()) == 5


def test_what_the_purge_leaves_still_verifies(site_with, monkeypatch):
    monkeypatch.setattr(batches, "ROWS", 4)
    site = site_with(audit_keep="30d")
    old = [add(site, 5, days=50), add(site, 3, days=40)]
    young = add(site, 3)
    assert purged(site) == {"audit": 8}
    anchor, *rest = seals(site)
    assert (anchor.last_id, rest) == (old[-1][-1], [])
    assert problems(site) == []
    seal_all(site)
    assert [each.rows for each in seals(site)[1:]] == [3]
    assert problems(site) == []
    change(site, insert(AuditEvent).values(id=old[0][1], at=clock.now(), event="login.failed"))
    [found] = problems(site)
    assert "where a purge has deleted" in found.text
    assert purged(site) == {}
    change(site, delete(AuditEvent).where(AuditEvent.id < young[0]))
    change(site, delete(SEALS).where(SEALS.c.id == anchor.id))
    assert [each.seal for each in problems(site)] == [1]


def test_a_purge_at_the_same_time_is_no_problem_for_the_doctor(site_with):
    site = site_with(audit_keep="30d")
    add(site, 3, days=50)
    seal_all(site)
    add(site, 1)
    deleted = []
    with site.database.autocommit.connect() as connection:

        @event.listens_for(connection, "after_cursor_execute")
        def purge_meanwhile(_connection, _cursor, statement, *_rest):
            if "audit_seals" in statement and not deleted:
                deleted.append(purged(site))

        assert purge_problem(connection, clock.now(), site.cfg) is None
    assert deleted == [{"audit": 3}]


def test_the_purge_deletes_whole_segments_and_not_the_newest_event(site_with):
    site = site_with(audit_keep="30d")
    add(site, 3, days=50)
    add(site, 1)
    seal_all(site)  # one segment, old and young
    add(site, 2, days=40)
    assert purged(site) == {}
    add(site, 1)
    assert purged(site) == {}  # the first segment is still too young
    with site.db() as db:
        assert len(db.scalars(select(AuditEvent.id)).all()) == 7
    site = site_with(audit_keep="30d")
    add(site, 3, days=50)
    assert purged(site) == {}
    add(site, 1, days=40)
    assert purged(site) == {"audit": 3}
    assert problems(site) == []
