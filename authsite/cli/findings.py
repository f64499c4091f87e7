"""One line of a report of ``authsite doctor``."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """``state``: ``ok``; ``change`` before production; ``wrong``: an error that has an effect."""

    state: str
    subject: str
    message: str
