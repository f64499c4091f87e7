"""Verify the seals of the audit trail, and compare them with those that the log has."""

import hmac
import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, select

from authsite import clock
from authsite.crypto.keys import Key

from .models import AuditEvent
from .seals import NO_MAC, SEALS, Seal, is_purged, mac_of, read_segment

SEALS_READ = 500
UNSEALED_FOR = timedelta(hours=1)  # longer than this, the sealer does not work


class Problem(NamedTuple):
    """What does not verify: which events, their latest time as far as it is known, and why."""

    seal: int | None
    first_id: int | None
    last_id: int | None
    until: datetime | None
    text: str


class LoggedSeal(NamedTuple):
    """A seal as the log has it."""

    id: int
    mac: str


class Summary:
    """What `verified` has read."""

    def __init__(self) -> None:
        self.seals = 0
        self.rows = 0
        self.unsealed = 0
        self.last: Seal | None = None


def verified(connection: Connection, keys: tuple[Key, ...], summary: Summary) -> Iterator[Problem]:
    """Compute all seals again; yield what is wrong, the oldest first, and fill in ``summary``.

    It reads a thousand events at a time. Raises SQLAlchemy's errors.
    """
    known = {key.fingerprint.hex(): key for key in keys}
    former: Seal | None = None
    for seal in _seals(connection):
        if former is None and is_purged(keys, seal):
            yield from _events_before(connection, seal)
        elif seal.id != (former.id + 1 if former else 1):
            yield _missing_seals(former, seal)
        else:
            yield from _segment(connection, known, former, seal, summary)
        summary.seals += 1
        former = summary.last = seal
    yield from _unsealed(connection, former, summary)


def _seals(connection: Connection) -> Iterator[Seal]:
    last = -1
    while True:
        statement = select(SEALS).where(SEALS.c.id > last).order_by(SEALS.c.id).limit(SEALS_READ)
        found = [Seal(*row) for row in connection.execute(statement)]
        yield from found
        if len(found) < SEALS_READ:
            return
        last = found[-1].id


def _segment(
    connection: Connection,
    known: dict[str, Key],
    former: Seal | None,
    seal: Seal,
    summary: Summary,
) -> Iterator[Problem]:
    """Whether the events and the seal are as they were when it was made."""
    key = known.get(seal.key)
    if key is None:
        yield _about(seal, "the key of this seal is neither in audit-key nor from a secret; add it")
        return
    try:
        found = read_segment(connection, former.last_id if former else None, seal.last_id)
    except ValueError:
        yield _about(seal, "an event was changed: a value cannot be read")
        return
    rows = found.rows if found else 0
    summary.rows += rows
    expected = mac_of(key, seal, found.digest if found else "", former.mac if former else NO_MAC)
    if hmac.compare_digest(expected, seal.mac):
        return
    if rows < seal.rows:
        yield _about(seal, f"{seal.rows - rows} of {seal.rows} events are missing")
    elif rows > seal.rows:
        yield _about(seal, f"{rows - seal.rows} events were added to {seal.rows}")
    else:
        yield _about(seal, "an event, this seal or the one before was changed")


def _about(seal: Seal, text: str) -> Problem:
    return Problem(seal.id, seal.first_id, seal.last_id, seal.newest_at, text)


def _missing_seals(former: Seal | None, seal: Seal) -> Problem:
    first_id = former.last_id + 1 if former else None
    first = former.id + 1 if former else 1
    which = f"seal {first} is" if first == seal.id - 1 else f"seals {first} to {seal.id - 1} are"
    return Problem(
        first, first_id, seal.first_id - 1, seal.newest_at,
        f"{which} missing, and no purge has deleted them",
    )  # fmt: skip


def _events_before(connection: Connection, purged: Seal) -> Iterator[Problem]:
    """Events with ids of those that a purge has deleted."""
    statement = select(func.count(), func.min(AuditEvent.id), func.max(AuditEvent.id)).where(
        AuditEvent.id <= purged.last_id
    )
    count, first, last = connection.execute(statement).one()
    if count:
        text = f"{count} events were added where a purge has deleted the events"
        yield Problem(purged.id, first, last, None, text)


def _unsealed(connection: Connection, last: Seal | None, summary: Summary) -> Iterator[Problem]:
    statement = select(
        func.count(), func.min(AuditEvent.id), func.max(AuditEvent.id), func.min(AuditEvent.at)
    )
    if last:
        statement = statement.where(AuditEvent.id > last.last_id)
    summary.unsealed, first_id, last_id, oldest = connection.execute(statement).one()
    if oldest is not None and clock.now() - oldest > UNSEALED_FOR:
        yield Problem(
            None, first_id, last_id, oldest,
            f"{summary.unsealed} events have no seal, the oldest for more than an hour: seals were"
            " deleted, or no process seals (setting janitor)",
        )  # fmt: skip


def compare(connection: Connection, logged: Iterable[LoggedSeal]) -> Iterator[Problem]:
    """What the log has and the table has not: the end of the trail was cut off, or replaced."""
    oldest = connection.scalar(select(func.min(SEALS.c.id)))
    rest = iter(logged)
    while some := list(islice(rest, SEALS_READ)):
        statement = select(SEALS).where(SEALS.c.id.in_({each.id for each in some}))
        found = {row.id: Seal(*row) for row in connection.execute(statement)}
        for each in some:
            seal = found.get(each.id)
            if seal is None and (oldest is None or each.id > oldest):
                text = "the log has this seal, and the table has not: the trail was cut off"
                yield Problem(each.id, None, None, None, text)
            elif seal and not hmac.compare_digest(seal.mac.encode(), each.mac.encode()):
                yield _about(seal, "the log has another seal with this number: it was replaced")


_LOG_FIELD = re.compile(r"\b(seal|mac)='?([0-9a-f]+)")
_EVENT = "audit_sealed"


def seals_in_log(lines: Iterable[str]) -> Iterator[LoggedSeal]:
    """The seals in lines of the log: JSON, or as in a terminal; others are skipped."""
    for line in lines:
        if _EVENT in line:
            fields = _json_fields(line) or dict(_LOG_FIELD.findall(line))
            seal, mac = fields.get("seal"), fields.get("mac")
            if str(seal).isdecimal() and isinstance(mac, str):
                yield LoggedSeal(int(str(seal)), mac)


def _json_fields(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line[line.index("{") :])
    except ValueError:
        return None
    return found if isinstance(found, dict) and found.get("event") == _EVENT else None
