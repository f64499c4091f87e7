"""What can be wrong with the settings, said in one message."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One wrong setting: its key, where and what it was, and what would be right."""

    key: str
    advice: str
    where: str | None = None
    value: str | None = None  # fit to be shown: see `known.shown`

    def __str__(self) -> str:
        where = f" (from {self.where})" if self.where and self.where != self.key else ""
        value = "" if self.value is None else f" = {self.value}"
        return f"{self.key}{where}{value}: {self.advice}"


class SettingsError(ValueError):
    """The settings are wrong; the message names every `Problem`, so that one run finds all."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        heading = "One setting is wrong:" if count == 1 else f"{count} settings are wrong:"
        super().__init__("\n  ".join([heading, *map(str, self.problems)]))
