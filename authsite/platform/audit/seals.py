"""What a seal is: a MAC over some events and over the seal before it.

A seal covers the events after the last one of the seal before, up to its own last one, in the
order of their ids. So an event that is changed, deleted or added later shows, and so does a seal
that is. The MAC is HMAC-SHA-256 under a key that is not in the database. The row has everything
that the MAC covers, so that a seal that authsite did not make is known without the events.
"""

import hmac
import json
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import Connection, func, insert, select

from authsite.platform.crypto.keys import Key, derived_key, key_of
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings

from .stored import SEALS, events_after, is_moment, moment_of, moment_text, seal_rows, seal_text

PURPOSE = "audit"
NO_MAC = ""  # before the first seal
CHUNK = 1000  # events that one statement reads
SEALS_READ = 500  # seals that one statement reads


class Seal(NamedTuple):
    """A row of the table of seals; its times are texts, as the database has them."""

    id: int
    at: str
    rows: int
    first_id: int
    last_id: int
    newest_at: str
    key: str
    digest: str
    former_mac: str
    mac: str
    purged_mac: str | None = None


class Segment(NamedTuple):
    """The events of a seal: their number, first and last id, latest time, and a hash of them.

    ``oldest``: the earliest time, as it is stored; empty if one of the times cannot be read.
    """

    rows: int
    first_id: int
    last_id: int
    newest_at: datetime
    digest: str
    oldest: str


class AuditKey(NamedTuple):
    """A key of seals. With ``until`` it was replaced, and made no later seal than that one."""

    key: Key
    until: int | None = None

    def covers(self, seal: Seal) -> bool:
        """Whether ``seal`` can be by this key."""
        return self.until is None or seal.id <= self.until

    def ending(self, until: int) -> "AuditKey":
        """This key, for no later seals than ``until``."""
        return self._replace(until=until if self.until is None else min(until, self.until))


AuditKeys = tuple[AuditKey, ...]


def audit_keys(settings: Settings) -> AuditKeys:
    """The keys of seals: the first makes them, all verify, up to the last seal of each.

    Without ``audit-key`` they derive from the secrets, the oldest first. ``authsite secret rotate``
    writes that key to ``audit-key``, so that seals can be verified after the end of the secret.
    """
    if settings.audit_key:
        return tuple(_audit_key(each.reveal()) for each in settings.audit_key)
    derived = (derived_key(each.reveal(), PURPOSE) for each in reversed(settings.secret))
    return tuple(map(AuditKey, derived))


def _audit_key(text: str) -> AuditKey:
    key, _, until = text.partition("@")
    return AuditKey(key_of(bytes.fromhex(key)), int(until) if until else None)


def keys_in_hex(keys: AuditKeys) -> str:
    """The value of ``audit-key`` that stands for ``keys``."""
    return " ".join(
        key.secret.hex() + ("" if until is None else f"@{until}") for key, until in keys
    )


def seals(connection: Connection, *, newest_first: bool = False) -> Iterator[Seal]:
    """All seals, read in parts: the oldest first, or the newest."""
    dialect, id_ = connection.dialect.name, SEALS.c.id
    order, last = id_.desc() if newest_first else id_, None
    while True:
        statement = seal_rows(dialect).order_by(order).limit(SEALS_READ)
        if last is not None:
            statement = statement.where(id_ < last if newest_first else id_ > last)
        found = [seal_of_row(row, dialect) for row in connection.execute(statement).mappings()]
        yield from found
        if len(found) < SEALS_READ:
            return
        last = found[-1].id


def seals_with_ids(connection: Connection, ids: set[int]) -> dict[int, Seal]:
    """Those of the seals that exist, by id."""
    dialect = connection.dialect.name
    statement = seal_rows(dialect).where(SEALS.c.id.in_(ids))
    return {
        row["id"]: seal_of_row(row, dialect) for row in connection.execute(statement).mappings()
    }


def seal_of_row(row: object, dialect: str) -> Seal:
    """The seal in a row of `stored.seal_rows`."""
    values = dict(row)  # type: ignore[call-overload]
    for name in ("at", "newest_at", "key", "digest", "former_mac", "mac", "purged_mac"):
        values[name] = seal_text(values[name], dialect, moment=name in ("at", "newest_at"))
    return Seal(**values)


def newest_seal(connection: Connection, keys: AuditKeys) -> Seal | None:
    """The newest seal that authsite has made; what others have inserted after it is skipped."""
    found = seals(connection, newest_first=True)
    return next((seal for seal in found if is_ours(keys, seal)), None)


def last_number(connection: Connection, keys: AuditKeys) -> int:
    """The number of the newest seal, or 0; numbers that leave out others do not count."""
    newest = newest_seal(connection, keys)
    oldest = next((seal for seal in seals(connection) if is_ours(keys, seal)), None)
    if newest is None or oldest is None:
        return 0
    count = connection.scalar(select(func.count()).select_from(SEALS)) or 0
    return min(newest.id, oldest.id + count - 1)


def insert_seal(connection: Connection, seal: Seal) -> None:
    """Store ``seal``. Raises SQLAlchemy's errors."""
    moments = {"at": moment_of(seal.at), "newest_at": moment_of(seal.newest_at)}
    connection.execute(insert(SEALS), seal._asdict() | moments)


def read_segment(
    connection: Connection, after: int | None, last: int, at_most: int | None = None
) -> Segment | None:
    """The events with ids above ``after`` up to ``last``; None if there are none.

    ``at_most``: only the first ones, at most this number. A time that cannot be read, or is to
    come, counts as now.
    """
    content, rows, first_id, newest, oldest = sha256(), 0, None, "", None
    last_id, dialect = after, connection.dialect.name
    while at_most is None or rows < at_most:
        size = CHUNK if at_most is None else min(CHUNK, at_most - rows)
        statement = events_after(dialect, bounded=last_id is not None)
        values = {"after": last_id, "last": last, "at_most": size}
        chunk = connection.execute(statement, values).all()
        for row in chunk:
            content.update(_line(*row))
            newest = max(newest, row[1])
            at = row[1] if is_moment(row[1]) else ""
            oldest = at if oldest is None else min(oldest, at)
        if chunk:
            first_id = chunk[0][0] if first_id is None else first_id
            last_id, rows = chunk[-1][0], rows + len(chunk)
        if len(chunk) < size:
            break
    if first_id is None or last_id is None:
        return None
    now = clock.now()
    newest_at = min(moment_of(newest) or now, now)
    return Segment(rows, first_id, last_id, newest_at, content.hexdigest(), oldest or "")


def _line(*values: object) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode() + b"\n"


def new_seal(key: Key, id_: int, former: Seal | None, segment: Segment) -> Seal:
    """The seal with the number ``id_`` over ``segment`` and over the seal before."""
    unsigned = Seal(
        id_, moment_text(clock.now()), segment.rows, segment.first_id, segment.last_id,
        moment_text(segment.newest_at), key.fingerprint.hex(), segment.digest,
        former.mac if former else NO_MAC, NO_MAC,
    )  # fmt: skip
    return unsigned._replace(mac=_mac_of(key, unsigned))


def _mac_of(key: Key, seal: Seal) -> str:
    return key.mac(_line("authsite audit seal", *seal[: Seal._fields.index("mac")])).hex()


def is_ours(keys: AuditKeys, seal: Seal) -> bool:
    """Whether authsite has made ``seal``, by one of the keys, and nothing of it was changed."""
    return any(
        each.covers(seal)
        and each.key.fingerprint.hex() == seal.key
        and _equal(_mac_of(each.key, seal), seal.mac)
        for each in keys
    )


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def purged_mac_of(key: Key, seal: Seal) -> str:
    """The proof that authsite has deleted the events of ``seal`` and all before it."""
    return key.mac(_line("authsite audit purged", seal.id, seal.last_id, seal.mac)).hex()


def late_mac_of(key: Key, id_: int, mac: str) -> str:
    """The proof that an administrator has accepted the late seal of this number and MAC."""
    return key.mac(_line("authsite audit late seal", id_, mac)).hex()


def is_purged(keys: AuditKeys, seal: Seal) -> bool:
    """Whether authsite has made ``seal``, and has deleted its events and all before it."""
    proof = seal.purged_mac
    return (
        proof is not None
        and is_ours(keys, seal)
        and any(each.covers(seal) and _equal(purged_mac_of(each.key, seal), proof) for each in keys)
    )
