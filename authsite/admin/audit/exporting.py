"""The audit trail as files: NDJSON, and CSV that is safe to open in a spreadsheet."""

import csv
import json
from collections.abc import Iterable, Mapping
from io import StringIO
from typing import Any

from .rows import in_words

COLUMNS = (
    "at", "event", "user_id", "email", "client_id", "client", "address", "device", "agent",
    "request_id", "details",
)  # fmt: skip
# What a spreadsheet takes for the beginning of a formula (OWASP, CSV Injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def as_ndjson(rows: Iterable[Mapping[str, Any]]) -> str:
    """One object of JSON on each line."""
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """A line of `COLUMNS`, and one for each row (RFC 4180)."""
    file = StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    for row in rows:
        cells = {**row, "details": _details(row["details"])}
        writer.writerow([safe(cells[name] or "") for name in COLUMNS])
    return file.getvalue()


def safe(text: str) -> str:
    """``text`` as a cell; an apostrophe makes what looks like a formula a text."""
    begins = text.lstrip(" ").startswith(_FORMULA) or text.startswith(_FORMULA)
    return f"'{text}" if begins else text


def _details(details: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={in_words(value)}" for name, value in details.items())
