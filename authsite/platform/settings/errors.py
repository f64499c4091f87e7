"""Errors in the settings, reported in one message."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_USER_INFO = re.compile(r"(?<=//)[^/@\s]*@")
_MAX_SHOWN = 100  # characters


@dataclass(frozen=True, slots=True)
class InvalidSetting:
    """One invalid setting: its key, what would be valid, its source and its value."""

    key: str
    message: str
    source: str | None = None
    value: str | None = None  # as `display_value` returns it

    def __str__(self) -> str:
        source = f" (from {self.source})" if self.source and self.source != self.key else ""
        value = "" if self.value is None else f" = {self.value}"
        return f"{self.key}{source}{value}: {self.message}"


class SettingsError(ValueError):
    """The settings are invalid; the message has one line for each `InvalidSetting`."""

    def __init__(self, errors: Iterable[InvalidSetting]) -> None:
        self.errors = tuple(errors)
        count = len(self.errors)
        heading = "One setting is wrong:" if count == 1 else f"{count} settings are wrong:"
        super().__init__("\n  ".join([heading, *map(str, self.errors)]))


def display_value(text: str, *, hidden: bool) -> str:
    """A value for an error message: shortened, and without the user and password of a URL."""
    if hidden:
        return "(hidden)"
    plain = _USER_INFO.sub("(hidden)@", text)
    return repr(plain if len(plain) <= _MAX_SHOWN else plain[:_MAX_SHOWN] + "…")
