"""What a seal is: a MAC over some events and over the seal before it.

A seal covers the events after the last one of the seal before, up to its own last one, in the
order of their ids. So an event that is changed, deleted or added later shows, and so does a seal
that is. The MAC is HMAC-SHA-256 under a key that is not in the database. The row has everything
that the MAC covers, so that a seal that authsite did not make is known without the events.
"""

import json
from datetime import datetime
from typing import NamedTuple

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
