"""The whole verification of the audit trail, and what the last one has found.

A process without the keys of the seals cannot write a result: it has a MAC under one of them. It
says when the trail was read, and no more: what was changed since then shows at the next time.
"""

import hmac
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, func, select, text

from authsite.platform.audit.models import AuditEvent
from authsite.platform.db.base import UtcDateTime
from authsite.platform.installation.models import InstallationRecord
from authsite.platform.runtime import clock

from .keys import AuditKeys
from .seal import line
from .verify import LoggedSeal, Problem, Summary, compare, unaccepted, verified

MOST_PROBLEMS = 200  # after this number the verification ends
RECORD = "audit-verified"
_MAC_LENGTH = 16  # hexadecimal digits
_WRITE = text(
    "INSERT INTO installation_records (name, value, at) VALUES (:name, :value, :at)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value, at = excluded.at"
).bindparams(bindparam("at", type_=UtcDateTime()))


class Result(NamedTuple):
    """What a verification has read and found."""

    at: datetime
    problems: int
    seals: int
    events: int
    unsealed: int

    @property
    def ok(self) -> bool:
        """Whether nothing was wrong."""
        return not self.problems


def verify(
    connection: Connection, keys: AuditKeys, logged: Sequence[LoggedSeal] = ()
) -> tuple[Summary, list[Problem]]:
    """Compute all seals again, and compare them with those that the log has.

    ``connection`` reads one snapshot. Raises SQLAlchemy's errors.
    """
    summary = Summary()
    found: Iterable[Problem] = chain(
        verified(connection, keys, summary),
        unaccepted(connection, keys, summary),
        compare(connection, logged),
    )
    return summary, list(islice(found, MOST_PROBLEMS))


def as_json(summary: Summary, problems: Sequence[Problem]) -> dict[str, Any]:
    """The result as an object for scripts."""
    last = summary.last
    return {
        "ok": not problems,
        "seals": summary.seals,
        "events": summary.rows,
        "unsealed": summary.unsealed,
        "newest_seal": last and {"seal": last.id, "mac": last.mac},
        "problems": [each._asdict() for each in problems],
    }


def count_up_to(connection: Connection, most: int) -> int:
    """The number of events, counted up to ``most``."""
    some = select(AuditEvent.id).limit(most).subquery()
    return connection.scalar(select(func.count()).select_from(some)) or 0


def note(connection: Connection, keys: AuditKeys, summary: Summary, problems: int) -> None:
    """Store the result of a verification. Raises SQLAlchemy's errors."""
    result = Result(clock.now(), problems, summary.seals, summary.rows, summary.unsealed)
    numbers = " ".join(map(str, result[1:]))
    value = f"{numbers} {_mac(keys, 0, result)}"
    connection.execute(_WRITE, {"name": RECORD, "value": value, "at": result.at})


def last_result(connection: Connection, keys: AuditKeys) -> Result | None:
    """What the last verification has found; None without one that authsite has stored."""
    columns = InstallationRecord.value, InstallationRecord.at
    row = connection.execute(select(*columns).where(InstallationRecord.name == RECORD)).first()
    if row is None:
        return None
    *numbers, mac = row[0].split()
    try:
        result = Result(row[1], *map(int, numbers))
    except (TypeError, ValueError):
        return None
    known = (_mac(keys, number, result) for number in range(len(keys)))
    return (
        result if any(hmac.compare_digest(each.encode(), mac.encode()) for each in known) else None
    )


def _mac(keys: AuditKeys, number: int, result: Result) -> str:
    content = line("authsite audit verification", result.at.isoformat(), *result[1:])
    return keys[number].key.mac(content).hex()[:_MAC_LENGTH]
