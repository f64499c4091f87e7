"""Delete old rows of the audit trail, whole segments at a time."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, select, update

from authsite.crypto.keys import Key
from authsite.db import batches
from authsite.db.autocommit import transaction_on
from authsite.db.batches import Batch
from authsite.settings import Settings

from .models import AuditEvent
from .sealing import AGE, seal_events
from .seals import SEALS, Seal, audit_keys, is_purged, purged_mac_of

_SEALS_READ = 1000


class _Purgeable(NamedTuple):
    """The events behind the id ``after`` up to the end of ``seal``."""

    after: int | None
    seal: Seal


def purge(connection: Connection, now: datetime, cfg: Settings) -> Iterator[Batch]:
    """Delete sealed events that are older than ``audit-keep``, unless it is ``forever``.

    What is not sealed yet is sealed first. The last seal of what is deleted stays, with the proof
    that we deleted it, so that the rest still verifies. The newest event stays: SQLite would give
    its id again.
    """
    keys = audit_keys(cfg)
    if cfg.audit_keep is not None:
        end = now - cfg.audit_keep
        sealing = seal_events(connection, keys, end + AGE)
        old = select(AuditEvent.id).where(AuditEvent.at <= end).limit(1)
        first = connection.scalar(old.order_by(AuditEvent.at)) or 0
        last = connection.scalar(old.order_by(AuditEvent.at.desc()))
        chosen = _next(connection, keys, sealing, end) if last else None
        while chosen and last:
            deleted = _delete(connection, keys, chosen)
            done = (chosen.seal.last_id - first) / max(last - first, 1)
            chosen = _next(connection, keys, sealing, end)
            yield Batch(deleted, min(done, 1.0) if chosen else 1.0)
    for _seal in seal_events(connection, keys, now):
        yield Batch(0, 1.0)


def _next(
    connection: Connection, keys: tuple[Key, ...], sealing: Iterator[Seal], end: datetime
) -> _Purgeable | None:
    """The next events to delete, at most so many as a batch may have; None if there are none."""
    while (found := _purgeable(connection, keys, end)) is None:
        if next(sealing, None) is None:
            return None
    return found


def _purgeable(connection: Connection, keys: tuple[Key, ...], end: datetime) -> _Purgeable | None:
    newest_id = connection.scalar(select(func.max(AuditEvent.id)))
    found = connection.execute(select(SEALS).order_by(SEALS.c.id).limit(_SEALS_READ)).all()
    after, chosen, rows = None, None, 0
    for seal in (Seal(*row) for row in found):
        if is_purged(keys, seal):
            after = seal.last_id
            continue
        rows += seal.rows
        last = seal.newest_at > end or newest_id is None or seal.last_id >= newest_id
        if last or (chosen and rows > batches.ROWS):
            break
        chosen = seal
    return _Purgeable(after, chosen) if chosen else None


def _delete(connection: Connection, keys: tuple[Key, ...], chosen: _Purgeable) -> int:
    seal = chosen.seal
    events = delete(AuditEvent).where(AuditEvent.id <= seal.last_id)
    if chosen.after is not None:
        events = events.where(AuditEvent.id > chosen.after)
    proof = purged_mac_of(keys[0], seal)
    with transaction_on(connection):
        deleted = connection.execute(events).rowcount
        connection.execute(delete(SEALS).where(SEALS.c.id < seal.id))
        connection.execute(update(SEALS).where(SEALS.c.id == seal.id).values(purged_mac=proof))
    return deleted
