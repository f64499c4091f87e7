"""Names with an explanation for the operator."""

from enum import StrEnum
from typing import Self


class Explained(StrEnum):
    """A name, with its ``meaning`` for the operator and ``details`` of the row, in Markdown."""

    meaning: str
    details: str

    def __new__(cls, name: str, meaning: str, details: str = "") -> Self:
        made = str.__new__(cls, name)
        made._value_ = name
        made.meaning, made.details = meaning, details
        return made
