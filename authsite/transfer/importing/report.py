"""What became of each row: counted, and written to the files that list them."""

import csv
import json
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple, TextIO, get_args
from uuid import UUID

from .rows import Fault, Row

Result = Literal["imported", "present", "refused"]
PRESENT = "was imported before"


class Outcome(NamedTuple):
    """``present``: an earlier import has written the row. ``reason`` is None for ``imported``.

    ``unsure``: the row says nothing of when the one that is here was created.
    """

    row: int
    source_id: str | None
    id: UUID | None
    result: Result
    field: str | None = None
    reason: str | None = None
    unsure: bool = False

    @property
    def owner(self) -> Result | None:
        """What the row is for others that hang on its id; None if none is taken."""
        return None if self.unsure or self.result == "refused" else self.result


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


class Report:
    """What became of the rows of one table.

    ``rows``: a file that gets a line of JSON for each row that is not imported. ``ids``: one that
    gets the id in the source and our id of every row that is, now or before. What follows a
    colon and a blank in a reason belongs to one row, and is not counted apart.
    """

    def __init__(self, table: str, rows: TextIO | None, ids: TextIO | None) -> None:
        self.table = table
        self.ignored: Sequence[str] = ()
        """The columns of the table that were not read."""
        self._rows = rows
        self._ids = csv.writer(ids) if ids else None
        if self._ids and ids and ids.tell() == 0:
            self._ids.writerow(("table", "source_id", "id"))
        self._results: Counter[Result] = Counter()
        self._reasons: Counter[str] = Counter()

    def add(self, outcomes: list[Outcome]) -> None:
        """Count and list the rows of a batch that is committed."""
        for outcome in outcomes:
            self._results[outcome.result] += 1
            if outcome.result == "refused":
                reason = (outcome.reason or "").partition(": ")[0]
                self._reasons[f"{outcome.field}: {reason}" if outcome.field else reason] += 1
            if self._rows and outcome.result != "imported":
                self._rows.write(f"{self._line(outcome)}\n")
            if self._ids and outcome.id:
                self._ids.writerow((self.table, _as_text(outcome.source_id), outcome.id))

    def counts(self) -> dict[Result, int]:
        """The number of rows with each result."""
        return {result: self._results[result] for result in get_args(Result)}

    @property
    def taken(self) -> bool:
        """Whether any row was imported, now or before."""
        return self._results["imported"] + self._results["present"] > 0

    def lines(self) -> list[str]:
        """What people read: the numbers, and how often each reason occurred."""
        counts = self.counts()
        first = (
            f"{self.table}: {counts['imported']:,} imported, {counts['present']:,} imported before,"
            f" {counts['refused']:,} not imported"
        )
        reasons = (f"  {count:>8,}  {why}" for why, count in self._reasons.most_common())
        return [first, *reasons, *self.notes()]

    def notes(self) -> list[str]:
        """What people read beside the numbers."""
        names = ", ".join(self.ignored)
        return [f"{self.table}: columns ignored: {names}"] if names and self.taken else []

    def _line(self, outcome: Outcome) -> str:
        values = {
            "table": self.table,
            "row": outcome.row,
            "source_id": outcome.source_id,
            "result": outcome.result,
            "field": outcome.field,
            "reason": outcome.reason,
        }
        return json.dumps(values)


def _as_text(source_id: str | None) -> str | None:
    """An id that a spreadsheet does not take for a formula (OWASP, "CSV Injection")."""
    return f"'{source_id}" if source_id and source_id[0] in "=+-@" else source_id
