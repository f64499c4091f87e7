"""Audit events as rows for people."""

from collections.abc import Mapping
from typing import Any

from authsite.admin.audit.rows import in_words

COLUMNS = ("at", "event", "e-mail", "address", "device", "details")
ID_COLUMNS = ("at", "event", "user", "client", "address", "request", "details")


def cells(row: Mapping[str, Any], *, ids: bool = False) -> tuple[str, ...]:
    """The cells of a row under `COLUMNS`, with ``ids`` under `ID_COLUMNS`."""
    details = [f"{name}={in_words(value)}" for name, value in row["details"].items()]
    if ids:
        names = ("at", "event", "user_id", "client_id", "address", "request_id")
        return (*(row[name] or "–" for name in names), ", ".join(details))
    if row["client"]:
        details.insert(0, f"client={row['client']}")
    email = row["email"] or ("(deleted)" if row["user_id"] else "–")
    shown = (row["at"], row["event"], email, row["address"] or "–", row["device"] or "–")
    return (*shown, ", ".join(details))
