"""The audit trail as files: NDJSON, and CSV that is safe to open in a spreadsheet.

Both are made part by part, so that few rows are in memory together.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from typing import Any

from .rows import in_words

COLUMNS = (
    "at", "event", "user_id", "email", "client_id", "client", "address", "device", "agent",
    "request_id", "details",
)  # fmt: skip
# What a spreadsheet takes for the beginning of a formula (OWASP, CSV Injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def as_ndjson(parts: Iterable[Iterable[Mapping[str, Any]]]) -> Iterator[bytes]:
    """One object of JSON on each line."""
    for rows in parts:
        yield "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def as_csv(parts: Iterable[Iterable[Mapping[str, Any]]]) -> Iterator[bytes]:
    """A line of `COLUMNS`, and one for each row (RFC 4180)."""
    yield _lines([COLUMNS])
    for rows in parts:
        cells = ({**row, "details": _details(row["details"])} for row in rows)
        yield _lines([safe(row[name] or "") for name in COLUMNS] for row in cells)


def _lines(rows: Iterable[Iterable[str]]) -> bytes:
    file = StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    return file.getvalue().encode()


def safe(text: str) -> str:
    """``text`` as a cell; an apostrophe makes what looks like a formula a text."""
    begins = text.lstrip(" ").startswith(_FORMULA) or text.startswith(_FORMULA)
    return f"'{text}" if begins else text


def _details(details: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={in_words(value)}" for name, value in details.items())
