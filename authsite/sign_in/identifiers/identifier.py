"""The value, the error and the first checks that all kinds of login name share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from authsite.platform.i18n import PluralString, _, translate
from authsite.platform.passwords.scheme import CONTROL


@dataclass(frozen=True, slots=True)
class Identifier:
    """``key``: unique over all kinds and looked up. ``display``: stored, shown, mailed to."""

    kind: str
    key: str
    display: str


class InvalidIdentifier(ValueError):
    """The text is not an identifier of that kind. ``code``: a validation code of the API."""

    def __init__(self, message: str, code: str = "invalid") -> None:
        super().__init__(translate(message))
        self.message = message
        self.code = code


Normalize: TypeAlias = Callable[[str, str | None], Identifier]


def clean_text(text: str, longest: int, missing: str) -> str:
    """``text`` without surrounding blanks, if it is short and contains no control characters.

    Raises `InvalidIdentifier`, with the message ``missing`` if nothing is left. The length is
    checked first, since later steps may take more than linear time; control characters before the
    blanks are removed, so that a line break is an error at the end of the text too.
    """
    if len(text) > longest:
        message = PluralString(
            "Use at most ${count} character.", "Use at most ${count} characters.", longest
        )
        raise InvalidIdentifier(message, "too_long")
    if CONTROL.search(text):
        raise InvalidIdentifier(_("Leave out line breaks, tabs and other control characters."))
    text = text.strip()
    if not text:
        raise InvalidIdentifier(missing, "required")
    return text
