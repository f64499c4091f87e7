"""Seals that were made long after their events.

Every minute one process seals. So a seal of old events says that no process sealed for so long, or
that an attacker has deleted the former seals, perhaps to change the events under them: then
authsite has sealed the present events. A seal cannot be given an earlier time, since its MAC covers
the time. An administrator who knows the reason accepts the seal. The event of the acceptance has a
MAC over the number and the MAC of the seal: it holds for no other seal, and needs the key.
"""

import hmac
import json
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context

from .proofs import is_ours, is_purged, late_mac_of
from .seal import AuditKeys, Seal, audit_keys
from .stored import SEALS, late_acceptances, late_seals, moment_of
from .table import read_segment, seal_of_row, seals_with_ids

LATE = timedelta(hours=1)
_AT_MOST = 1000  # late seals that `doctor` reads


class NotAcceptable(ValueError):
    """This seal cannot be accepted; the message says why."""


class Acceptances(NamedTuple):
    """The late seals that administrators have accepted, as pairs of number and MAC."""

    seals: frozenset[tuple[int, str]]

    def has(self, seal: Seal) -> bool:
        """Whether ``seal`` was accepted, and not another one with its number."""
        return (seal.id, seal.mac) in self.seals


def lateness(seal: Seal, oldest: str) -> str | None:
    """How old the ``oldest`` event was when the seal was made, in words; None if that was in time.

    ``oldest``: see `Segment`.
    """
    made, at = moment_of(seal.at), moment_of(oldest)
    if made is None or at is None:
        return "of a time that cannot be read"
    if made - at <= LATE:
        return None
    hours = (made - at) // timedelta(hours=1)
    return f"{hours // 24} days old" if hours >= 48 else f"{hours} hours old"


def is_old(oldest: str, now: datetime) -> bool:
    """Whether a seal that is made ``now`` is late."""
    at = moment_of(oldest)
    return at is None or now - at > LATE


def acceptances(connection: Connection, keys: AuditKeys) -> Acceptances:
    """All that are valid. Raises SQLAlchemy's errors."""
    found = set()
    for event_id, details in late_acceptances(connection):
        try:
            values = json.loads(details)
            number, mac, proof = int(values["seal"]), str(values["mac"]), str(values["proof"])
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            continue
        if _is_proof(connection, keys, event_id, (number, mac, proof)):
            found.add((number, mac))
    return Acceptances(frozenset(found))


def _is_proof(
    connection: Connection, keys: AuditKeys, event_id: int, values: tuple[int, str, str]
) -> bool:
    """Whether a key of the time of the event has made the proof."""
    number, mac, proof = values
    sealed_by = connection.scalar(select(func.min(SEALS.c.id)).where(SEALS.c.last_id >= event_id))
    return any(
        hmac.compare_digest(late_mac_of(each.key, number, mac).encode(), proof.encode())
        for each in keys
        if each.until is None or (sealed_by is not None and sealed_by <= each.until)
    )


def some_late(connection: Connection, keys: AuditKeys) -> list[Seal]:
    """Late seals that are not accepted, as far as their first and latest events show it.

    `verify.verified` looks at all events. Raises SQLAlchemy's errors.
    """
    found = [
        seal
        for row in late_seals(connection, LATE, _AT_MOST)
        if not is_purged(keys, seal := seal_of_row(row, connection.dialect.name))
    ]
    if not found:
        return []
    accepted = acceptances(connection, keys)
    return [seal for seal in found if not accepted.has(seal)]


def accept(ctx: Context, number: int, reason: str) -> bool:
    """Accept the late seal with this number; False if it was accepted before.

    Raises `NotAcceptable` if there is none that authsite has made, or if it is not late.
    """
    keys, connection = audit_keys(ctx.settings), ctx.db.connection()
    seal = seals_with_ids(connection, {number}).get(number)
    if seal is None or not is_ours(keys, seal):
        raise NotAcceptable(f"there is no seal {number} that authsite has made")
    segment = read_segment(connection, seal.first_id - 1, seal.last_id)
    if segment is None or lateness(seal, segment.oldest) is None:
        raise NotAcceptable(f"seal {number} is not late: there is nothing to accept")
    if acceptances(connection, keys).has(seal):
        return False
    details = {
        "seal": str(seal.id),
        "mac": seal.mac,
        "reason": reason,
        "proof": late_mac_of(keys[0].key, seal.id, seal.mac),
    }
    record(ctx, Event.AUDIT_LATE_ACCEPTED, details=details)
    return True
