"""Texts that the code makes: English for programs and logs, and translatable for pages.

An error's words are chosen where it happens, far from any reader; a page says them in the reader's
language with `say`. The lowest floor, beside `i18n`.
"""

import gettext
from collections.abc import Mapping
from typing import Any


class Text(str):
    """An English text that remembers what it was made of, and otherwise is a string as any."""

    __slots__ = ("forms", "values")
    forms: tuple[str, ...]
    values: Mapping[str, Any]


def text(message: str, /, **values: Any) -> Text:
    """``message`` with ``values`` where it says ``%(name)s``; they may be texts themselves."""
    return _made((message,), message, values)


def counted(one: str, many: str, count: int) -> Text:
    """``one`` or ``many``, whichever English takes, with ``%(count)s`` put in."""
    return _made((one, many), one if count == 1 else many, {"count": count})


def say(catalogue: gettext.NullTranslations, words: str) -> str:
    """``words`` in the language of ``catalogue``; without a translation they stay as they are."""
    if not isinstance(words, Text):
        return catalogue.gettext(words) if words else words
    if len(words.forms) > 1:
        one, many = words.forms
        message = catalogue.ngettext(one, many, words.values["count"])
    else:
        message = catalogue.gettext(words.forms[0])
    values = {
        name: say(catalogue, value) if isinstance(value, str) else value
        for name, value in words.values.items()
    }
    return message % values if values else message


def _made(forms: tuple[str, ...], message: str, values: Mapping[str, Any]) -> Text:
    made = Text(message % values if values else message)
    made.forms, made.values = forms, values
    return made
