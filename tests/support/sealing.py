"""Sealing and verifying the audit trail in tests."""

from datetime import timedelta

from sqlalchemy import insert

from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.seals.seal import audit_keys
from authsite.platform.audit.seals.sealing import AGE, seal_events
from authsite.platform.audit.seals.table import seals as all_seals
from authsite.platform.audit.seals.verification import Summary, compare, verified
from authsite.platform.db.transaction import snapshot_on
from authsite.platform.runtime import clock


def seal_all(site, seconds=1):
    """Seal what is there, as if that were older than a minute; the seals that were made."""
    now = clock.now() + AGE + timedelta(seconds=seconds)
    with site.database.autocommit.connect() as connection:
        return list(seal_events(connection, audit_keys(site.cfg), now))


def seals(site):
    """All seals, oldest first."""
    with site.database.autocommit.connect() as connection:
        return list(all_seals(connection))


def problems(site, logged=(), summary=None):
    """What does not verify."""
    with site.database.autocommit.connect() as connection, snapshot_on(connection):
        found = list(verified(connection, audit_keys(site.cfg), summary or Summary()))
        return [*found, *compare(connection, logged)]


def add(site, count, days=0):
    """A number of events, each in the last second, or some days ago; their ids."""
    at = clock.now() - timedelta(days=days)
    rows = [{"at": at, "event": f"e{number}", "details": {"name": "x"}} for number in range(count)]
    with site.db() as db:
        return list(db.scalars(insert(AuditEvent).returning(AuditEvent.id), rows))


def change(site, statement):
    """Change the tables as a person who has access to the database."""
    with site.database.autocommit.connect() as connection:
        connection.execute(statement)
