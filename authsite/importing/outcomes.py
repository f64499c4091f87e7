"""What became of each row."""

from typing import Literal, NamedTuple
from uuid import UUID

from .drafts import Fault
from .sources import Row

Result = Literal["imported", "present", "refused"]
PRESENT = "was imported before"


class Outcome(NamedTuple):
    """``present``: an earlier import has written the row. ``reason`` is None for ``imported``."""

    row: int
    source_id: str | None
    id: UUID | None
    result: Result
    field: str | None = None
    reason: str | None = None


def refused(row: Row, source_id: str | None, error: Fault | ValueError) -> Outcome:
    """The outcome of a row that is not taken.

    Any other error than a `Fault` is one that no check foresaw: only its own row is refused.
    """
    fault = (
        error
        if isinstance(error, Fault)
        else Fault(None, f"has a value that cannot be read: {type(error).__name__}")
    )
    return Outcome(row.number, source_id, None, "refused", fault.field, fault.reason)
