"""What a seal is: a MAC over some events and over the seal before it.

A seal covers the events after the last one of the seal before, up to its own last one, in the
order of their ids. So an event that is changed, deleted or added later shows, and so does a seal
that is. The MAC is HMAC-SHA-256 under a key that is not in the database. The row has everything
that the MAC covers, so that a seal that authsite did not make is known without the events.
"""

import json
from datetime import datetime
from typing import NamedTuple

from authsite.platform.crypto.keys import Key, derived_key, key_of
from authsite.platform.settings import Settings

NO_MAC = ""  # before the first seal


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


def line(*values: object) -> bytes:
    """``values`` as the bytes that a digest or MAC covers."""
    return json.dumps(values, separators=(",", ":")).encode() + b"\n"


# The keys of seals: of the setting ``audit-key``, or derived from the secrets.


PURPOSE = "audit"


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
