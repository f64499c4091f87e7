"""What a seal is: a MAC over some events and over the seal before it.

A seal covers the events behind the last one of the seal before, up to its own last one, in the
order of their ids. So an event that is changed, deleted or added later shows, and so does a seal
that is. The MAC is HMAC-SHA-256 under a key that is not in the database.
"""

import hmac
import json
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, NamedTuple, cast

from sqlalchemy import Connection, Table, bindparam, select

from authsite.crypto.keys import Key, derived_key, key_of
from authsite.settings import Settings

from .models import AuditEvent, AuditSeal

PURPOSE = "audit"
NO_MAC = ""  # before the first seal
CHUNK = 1000  # events that one statement reads

SEALS = cast(Table, AuditSeal.__table__)
_EVENTS = cast(Table, AuditEvent.__table__)
_READ = (
    select(*_EVENTS.columns)
    .where(_EVENTS.c.id > bindparam("after"), _EVENTS.c.id <= bindparam("last"))
    .order_by(_EVENTS.c.id)
    .limit(bindparam("at_most"))
)


class Seal(NamedTuple):
    """A row of the table of seals."""

    id: int
    at: datetime
    rows: int
    first_id: int
    last_id: int
    newest_at: datetime
    key: str
    mac: str
    purged_mac: str | None = None


class Segment(NamedTuple):
    """The events of a seal: their number, first and last id, latest time, and a hash of them."""

    rows: int
    first_id: int
    last_id: int
    newest_at: datetime
    digest: str


def audit_keys(settings: Settings) -> tuple[Key, ...]:
    """The keys of seals: the first makes them, all verify.

    Without ``audit-key`` they derive from the secrets, the oldest first. ``authsite secret rotate``
    writes that key to ``audit-key``, so that seals can be verified after the end of the secret.
    """
    if settings.audit_key:
        return tuple(key_of(bytes.fromhex(each.reveal())) for each in settings.audit_key)
    return tuple(derived_key(each.reveal(), PURPOSE) for each in reversed(settings.secret))


def keys_in_hex(settings: Settings) -> str:
    """The value of ``audit-key`` that keeps the keys as they are."""
    return " ".join(key.secret.hex() for key in audit_keys(settings))


def newest_seal(connection: Connection) -> Seal | None:
    """The seal that was made last."""
    found = connection.execute(select(SEALS).order_by(SEALS.c.id.desc()).limit(1)).first()
    return Seal(*found) if found else None


def read_segment(
    connection: Connection, after: int | None, last: int, at_most: int | None = None
) -> Segment | None:
    """The events with ids above ``after`` up to ``last``; None if there are none.

    ``at_most``: only the first so many. Raises `ValueError` if a row has no readable values.
    """
    content, rows, first_id, newest_at = sha256(), 0, None, None
    last_id = -(2**63) if after is None else after
    while at_most is None or rows < at_most:
        size = CHUNK if at_most is None else min(CHUNK, at_most - rows)
        values = {"after": last_id, "last": last, "at_most": size}
        chunk = connection.execute(_READ, values).all()
        for row in chunk:
            content.update(_canonical(row))
            newest_at = row.at if newest_at is None else max(newest_at, row.at)
        if chunk:
            first_id = chunk[0].id if first_id is None else first_id
            last_id, rows = chunk[-1].id, rows + len(chunk)
        if len(chunk) < size:
            break
    if first_id is None or newest_at is None:
        return None
    return Segment(rows, first_id, last_id, newest_at, content.hexdigest())


def _canonical(row: Any) -> bytes:
    """A row as one line of JSON, the same on every database."""
    return _line(
        row.id, _utc(row.at), row.event, row.user_id and row.user_id.hex,
        row.client_id and row.client_id.hex, row.address, row.agent, row.request_id, row.details,
    )  # fmt: skip


def _line(*values: object) -> bytes:
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def mac_of(key: Key, seal: Seal, digest: str, former_mac: str) -> str:
    """The MAC of ``seal`` over events with ``digest`` and over the seal before, in hexadecimal."""
    message = _line(
        "authsite audit seal", seal.id, seal.first_id, seal.last_id, seal.rows,
        _utc(seal.newest_at), _utc(seal.at), seal.key, digest, former_mac,
    )  # fmt: skip
    return key.mac(message).hex()


def purged_mac_of(key: Key, seal: Seal) -> str:
    """The proof that we ourselves have deleted the events of ``seal`` and all before it."""
    return key.mac(_line("authsite audit purged", seal.id, seal.last_id, seal.mac)).hex()


def is_purged(keys: tuple[Key, ...], seal: Seal) -> bool:
    """Whether ``seal`` has that proof."""
    return seal.purged_mac is not None and any(
        hmac.compare_digest(purged_mac_of(key, seal), seal.purged_mac) for key in keys
    )
