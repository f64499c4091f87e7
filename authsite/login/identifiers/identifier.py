"""The value that all kinds of login identifier share, and what refuses a bad one."""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from authsite.texts import text as _


@dataclass(frozen=True, slots=True)
class Identifier:
    """``key``: unique over all kinds and looked up. ``display``: stored, shown, mailed to."""

    kind: str
    key: str
    display: str


class InvalidIdentifier(ValueError):
    """The text is no identifier of that kind. ``code``: a validation code of the API."""

    def __init__(self, message: str, code: str = "invalid") -> None:
        super().__init__(message)
        self.message = message
        self.code = code


Normalise: TypeAlias = Callable[[str, str | None], Identifier]


def trimmed(text: str, longest: int, missing: str) -> str:
    """``text`` without blanks around it, short and free of control characters.

    Raises ``InvalidIdentifier``, with ``missing`` for its words if nothing is left. The length
    comes first: what follows may take more than linear time, and control characters before the
    blanks: a line break is never trimmed into a header.
    """
    if len(text) > longest:
        raise InvalidIdentifier(_("Use at most %(count)s characters.", count=longest), "too_long")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise InvalidIdentifier(_("Leave out line breaks, tabs and other control characters."))
    text = text.strip()
    if not text:
        raise InvalidIdentifier(missing, "required")
    return text
