"""Why a request is denied: one row for each reason, with a text for each of its three readers."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple, Self, TypeVar

from authsite.platform.i18n import _, translate

MAX_DEVELOPER = 300  # characters of an ``error_description``
MAX_SHOWN = 300  # characters of a value that a caller has sent

FOR_PERSON = _(
    "The application sent a request that cannot be answered. Tell the people who run the "
    "application."
)


class Texts(NamedTuple):
    """A row of a table of reasons; see `DenialReason`."""

    name: str
    error: str
    meaning: str
    person: str = FOR_PERSON
    developer: str = ""
    status: int = 400
    in_answer: bool = True


class DenialReason(StrEnum):
    """Base class of the tables of reasons: each member is made of `Texts`.

    ``error``: the code that a program reads. ``meaning``: for the operator, in Markdown: what was
    wrong, and what to change. ``person``: the text of a page, to translate. ``developer``: the
    ``error_description`` (RFC 6749, section 5.2): ASCII without quotes and backslashes. In both
    ``${name}`` stands for a value; see `description`. ``status``: of the response. ``in_answer``:
    whether a response may have ``developer``; else only the operator reads it, in `authsite
    explain`, since it would tell a caller what there is.
    """

    error: str
    meaning: str
    person: str
    developer: str
    status: int
    in_answer: bool

    def __new__(cls, *row: Any) -> Self:
        return member(cls, Texts(*row))

    def description(self, values: Mapping[str, str]) -> str:
        """The text for the developer with its values: ASCII, at most `MAX_DEVELOPER` characters."""
        filled = translate(_(self.developer, mapping=dict(values)))
        text = filled
        if not (text.isascii() and text.isprintable()):
            text = "".join(char for char in text if char.isascii() and char.isprintable())
        text = text.replace('"', "").replace("\\", "")
        return text if len(text) <= MAX_DEVELOPER else f"{text[: MAX_DEVELOPER - 3]}..."


_Reason = TypeVar("_Reason", bound=DenialReason)


def member(table: type[_Reason], row: Texts) -> _Reason:
    """The member of ``table`` for its ``row``, for a table whose rows have more than `Texts`."""
    made = str.__new__(table, row.name)
    made._value_ = row.name
    made.error, made.meaning, made.person = row.error, row.meaning, row.person
    made.developer = row.developer or str(row.person)
    made.status, made.in_answer = row.status, row.in_answer
    return made


def shown(value: str, most: int = MAX_SHOWN) -> str:
    """What a caller has sent, for operators: shortened; control and bidi characters as escapes."""
    text = value[:most]
    if not text.isprintable():
        text = "".join(
            char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
        )[:most]
    return f"{text}…" if len(value) > most else text
