"""What defines a setting: type, parser, default and text. `sections` has all settings."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar, cast

from .values import CENTURY, duration

T = TypeVar("T")
PREFIX = "authsite."
METADATA = "authsite.definition"
LIFETIME = duration(CENTURY, bare_days=True)
SESSION = duration(timedelta(days=400))  # browsers keep no cookie longer (RFC 6265bis)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


@dataclass(frozen=True, slots=True)
class Definition:
    """One setting: its key, parser, default and text.

    ``parse`` raises `ValueError` with what is accepted. ``default`` is text that ``parse`` accepts,
    or None. ``missing`` makes the setting required and says how to get a value. ``text`` says in
    Markdown what the setting does, with links as in ``docs/settings.md``, which is made of it. Its
    first sentence is the comment in the ini files.
    """

    parse: Callable[[str], object]
    default: str | None = None
    text: str = ""
    key: str = ""  # as documented
    secret: bool = False  # hidden, and readable from a file (AUTHSITE_<KEY>_FILE)
    variable: str | None = None  # environment variable that Apiato uses
    missing: str | None = None

    @property
    def plain_text(self) -> str:
        """``text`` with the file of each link, as a terminal and an ini file show it."""
        return _LINK.sub(_plain_link, self.text)

    @property
    def comment(self) -> str:
        """The first sentence of `plain_text`."""
        return re.split(r"(?<=\.) ", self.plain_text, maxsplit=1)[0]


def setting(
    parse: Callable[[str], T],
    default: str,
    *,
    text: str,
    key: str = "",
    secret: bool = False,
    variable: str | None = None,
) -> T:
    """A field with a default; mypy checks the parser against the type of the field."""
    definition = Definition(parse, default, text, key=key, secret=secret, variable=variable)
    return cast(T, _field(definition))


def optional(
    parse: Callable[[str], T], *, text: str, key: str = "", secret: bool = False
) -> T | None:
    """A field that is None unless it is set."""
    return cast(T, _field(Definition(parse, text=text, key=key, secret=secret)))


def required(parse: Callable[[str], T], missing: str, *, text: str, secret: bool = False) -> T:
    """A field without a default; ``missing`` says how to get a value."""
    return cast(T, _field(Definition(parse, text=text, missing=missing, secret=secret)))


def _field(definition: Definition) -> object:
    return field(metadata={METADATA: definition})


def _plain_link(link: re.Match[str]) -> str:
    label, target = link.groups()
    if "://" not in target:
        target = f"docs/settings.md{target}" if target.startswith("#") else f"docs/{target}"
    return target if target.startswith(f"docs/{label}") else f"{label} ({target})"
