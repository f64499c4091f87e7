"""The whole verification of the audit trail, and what the last one has found.

A process without the keys of the seals cannot write a result: it has a MAC under one of them. It
says when the trail was read, and no more: what was changed since then shows at the next time.
"""

import hmac
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, func, select, text, true

from authsite.platform.audit.models import AuditEvent
from authsite.platform.db.base import UtcDateTime
from authsite.platform.installation.features import InstallationRecord
from authsite.platform.runtime import clock

from .late import acceptances, lateness
from .proofs import is_ours, is_purged
from .seal import NO_MAC, AuditKeys, Seal
from .seal import line as seal_line
from .stored import SEALS
from .table import SEALS_READ, read_segment, seals, seals_with_ids

# Verify the seals of the audit trail, and compare them with those that the log has.


UNSEALED_FOR = timedelta(hours=1)  # longer than this, the sealer does not work


LATE_TEXT = (
    "the oldest event was {} when the seal was made: seals may have been deleted and made again. "
    "If no process sealed for so long, accept it with `authsite audit accept-late {} --reason …`"
)


class Problem(NamedTuple):
    """What does not verify: which events, their latest time as far as it is known, and why."""

    seal: int | None
    first_id: int | None
    last_id: int | None
    until: str | None
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
        self.late: list[tuple[Seal, str]] = []
        """Late seals, and how old the oldest event was then."""


class Checked(NamedTuple):
    """A seal, what is wrong with it or its events, and the events that it has now.

    ``ours``: authsite has made it. ``oldest``: the time of its oldest event, if they are as when it
    was made.
    """

    seal: Seal
    problems: tuple[Problem, ...]
    rows: int = 0
    purged: bool = False
    ours: bool = True
    oldest: str | None = None


def verified(connection: Connection, keys: AuditKeys, summary: Summary) -> Iterator[Problem]:
    """Compute all seals again; yield what is wrong, the oldest first, and fill in ``summary``.

    It reads a thousand events at a time. Raises SQLAlchemy's errors.
    """
    for found in checked(connection, keys):
        yield from found.problems
        if found.oldest is not None and (age := lateness(found.seal, found.oldest)):
            summary.late.append((found.seal, age))
        summary.seals += 1
        summary.rows += found.rows
        if found.ours:
            summary.last = found.seal
    yield from _unsealed(connection, summary.last, summary)


def unaccepted(connection: Connection, keys: AuditKeys, summary: Summary) -> Iterator[Problem]:
    """The late seals that `verified` has found, and that no administrator has accepted."""
    accepted = acceptances(connection, keys) if summary.late else None
    for seal, age in summary.late:
        if accepted and not accepted.has(seal):
            yield _about(seal, LATE_TEXT.format(age, seal.id))


def checked(connection: Connection, keys: AuditKeys) -> Iterator[Checked]:
    """Compute the seals again, the oldest first. One that authsite did not make has no events."""
    number: int | None = None  # of the seal before, also of one that authsite did not make
    former: Seal | None = None
    for seal in seals(connection):
        expected = (number or 0) + 1
        ours = is_ours(keys, seal)
        if not ours:
            yield Checked(seal, (_not_ours(keys, seal),), ours=False)
        elif former is None and number is None and is_purged(keys, seal):
            yield Checked(seal, tuple(_events_before(connection, seal)), purged=True)
        else:
            yield _checked(connection, former, seal, expected)
        number = max(seal.id, number or 0)
        if ours:
            former = seal


def _checked(connection: Connection, former: Seal | None, seal: Seal, expected: int) -> Checked:
    """Whether the seals before exist, and the events are as they were when it was made."""
    found: list[Problem] = []
    if seal.id != expected:
        found.append(_missing_seals(former, seal, expected))
    after = former.last_id if former else None
    former_mac = former.mac if former else NO_MAC
    if not hmac.compare_digest(seal.former_mac.encode(), former_mac.encode()):
        if seal.id == expected and former and former.id == seal.id - 1:
            found.append(_about(seal, "the seal before was replaced"))
        after = seal.first_id - 1  # the rest is said of the seals between
    segment = read_segment(connection, after, seal.last_id)
    rows, digest = (segment.rows, segment.digest) if segment else (0, "")
    if rows < seal.rows:
        found.append(_about(seal, f"{seal.rows - rows} of {seal.rows} events are missing"))
    elif rows > seal.rows:
        found.append(_about(seal, f"{rows - seal.rows} events were added to {seal.rows}"))
    elif not hmac.compare_digest(digest.encode(), seal.digest.encode()):
        found.append(_about(seal, "an event was changed"))
    oldest = segment.oldest if segment and not found else None
    return Checked(seal, tuple(found), rows, oldest=oldest)


def _about(seal: Seal, text: str) -> Problem:
    return Problem(seal.id, seal.first_id, seal.last_id, seal.newest_at, text)


def _not_ours(keys: AuditKeys, seal: Seal) -> Problem:
    by = [each for each in keys if each.key.fingerprint.hex() == seal.key]
    if not by:
        return _about(
            seal, "its key is neither in audit-key nor from a secret: add it, or it was forged"
        )
    if not any(each.covers(seal) for each in by):
        return _about(seal, f"its key was replaced after seal {by[0].until}: it was forged")
    return _about(seal, "this seal was changed, or authsite has not made it")


def _missing_seals(former: Seal | None, seal: Seal, expected: int) -> Problem:
    first_id = former.last_id + 1 if former else None
    one = expected == seal.id - 1
    which = f"seal {expected} is" if one else f"seals {expected} to {seal.id - 1} are"
    return Problem(
        expected, first_id, seal.first_id - 1, seal.newest_at,
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
    behind = AuditEvent.id > last.last_id if last else true()
    old = AuditEvent.at < clock.now() - UNSEALED_FOR
    statement = select(func.count(), func.min(AuditEvent.id), func.max(AuditEvent.id))
    summary.unsealed, first_id, last_id = connection.execute(statement.where(behind)).one()
    if connection.scalar(select(AuditEvent.id).where(behind, old).limit(1)) is not None:
        yield Problem(
            None, first_id, last_id, None,
            f"{summary.unsealed} events have no seal, the oldest for more than an hour: seals were"
            " deleted, or no process seals (setting janitor)",
        )  # fmt: skip


def compare(connection: Connection, logged: Iterable[LoggedSeal]) -> Iterator[Problem]:
    """Seals that the log has and the table has not: the newest were deleted, or replaced."""
    oldest = connection.scalar(select(func.min(SEALS.c.id)).where(SEALS.c.id > 0))
    rest = iter(logged)
    while some := list(islice(rest, SEALS_READ)):
        found = seals_with_ids(connection, {each.id for each in some})
        for each in some:
            seal = found.get(each.id)
            if seal is None and (oldest is None or each.id > oldest):
                text = "the log has this seal, and the table has not: it was deleted"
                yield Problem(each.id, None, None, None, text)
            elif seal and not hmac.compare_digest(seal.mac.encode(), each.mac.encode()):
                yield _about(seal, "the log has another seal with this number: it was replaced")


_EVENT = "audit_sealed"
_SEAL = re.compile("[0-9]{1,18}")
_MAC = re.compile("[0-9a-f]{64}")
# A line of a terminal: the event comes first, after what a program that keeps the log adds.
_TERMINAL = re.compile(
    r"(?:[^=\"{]*\s)?(?:audit_sealed|event='audit_sealed')((?:\s+\w+='?[0-9a-f]+'?)+)\s*"
)
_FIELD = re.compile(r"(\w+)='?([0-9a-f]+)")


def seals_in_log(lines: Iterable[str]) -> Iterator[LoggedSeal]:
    """The seals in lines of the log: JSON, or as in a terminal; others are skipped."""
    for line in lines:
        if _EVENT in line:
            fields = _json_fields(line)
            if fields is None:
                found = _TERMINAL.fullmatch(line.strip())
                fields = dict(_FIELD.findall(found[1])) if found else {}
            if seal := logged_seal(str(fields.get("seal")), str(fields.get("mac"))):
                yield seal


def logged_seal(seal: str, mac: str) -> LoggedSeal | None:
    """A seal by its number and MAC; None if they cannot be those of one."""
    if _SEAL.fullmatch(seal) and _MAC.fullmatch(mac):
        return LoggedSeal(int(seal), mac)
    return None


def _json_fields(line: str) -> dict[str, Any] | None:
    """The fields of a line in JSON, none if it is another event; None if it is not JSON."""
    try:
        found = json.loads(line[line.index("{") :])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("event") == _EVENT else {}


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
    content = seal_line("authsite audit verification", result.at.isoformat(), *result[1:])
    return keys[number].key.mac(content).hex()[:_MAC_LENGTH]
