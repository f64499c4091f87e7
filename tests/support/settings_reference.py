"""The settings in the documentation and in both ini files, from their definitions.

``python -m tests.support.settings_reference`` writes the tables of ``docs/settings.md``, a table
below each heading that is a section's, and in each ini what is between `OTHERS` and `SERVER`:
every setting that the file has not named before. The rest is written by hand and stays.
"""

import re
import textwrap
from dataclasses import fields, replace
from pathlib import Path

from authsite.platform.settings.definition import PREFIX
from authsite.platform.settings.definitions import (
    DEFINITIONS,
    LIMITS,
    SECTIONS,
    localized_definition,
)
from authsite.platform.settings.sections import CLIENT, LOCALIZED, PROVIDER

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/settings.md"
INIS = (ROOT / "development.ini", ROOT / "production.ini")
HEAD = "| key | default | meaning |\n|---|---|---|\n"
OTHERS = "# All other settings, with their defaults. Remove the # to change one.\n"
SERVER = "[server:main]\n"


def definitions(section):
    """The definitions of a section in their order, with those of several keys, without prefix."""
    for field in fields(section):
        if found := DEFINITIONS.get(field.name):
            yield shortened(found)
        if field.name in LOCALIZED:
            yield shortened(localized_definition(field.name, "<language>"))
        if field.name == "clients":
            yield from map(shortened, CLIENT.values())
        if field.name == "providers":
            yield from map(shortened, PROVIDER.values())
        if field.name == "limit_values":
            yield from map(shortened, LIMITS.values())


def shortened(definition):
    """``definition`` with its key as both kinds of file have it: without the prefix."""
    return replace(definition, key=definition.key.removeprefix(PREFIX))


def row(each):
    """The row of one setting in ``docs/settings.md``."""
    default = "required" if each.missing else f"`{each.default}`" if each.default else "–"
    secret = "**Secret.** " if each.secret else ""
    variable = f" Also `{each.variable}`." if each.variable else ""
    return f"| `{each.key}` | {default} | {secret}{each.text}{variable} |\n"


def page():
    """``docs/settings.md`` with its tables from the code."""
    text = PAGE.read_text("utf-8")
    for section in SECTIONS:
        table = HEAD + "".join(map(row, definitions(section)))
        heading = f"## {section.__doc__.rstrip('.')}\n"
        pattern = rf"({re.escape(heading)}[^#]*?){re.escape(HEAD)}(?:\|.*\n)*"
        text, count = re.subn(pattern, lambda found, table=table: found[1] + table, text)
        if count != 1:
            raise LookupError(f"docs/settings.md has no table below {heading}")
    return text


def ini(path):
    """The ini file at ``path`` with all settings that it does not set itself as comments."""
    above, _, rest = path.read_text("utf-8").partition(OTHERS)
    named = set(re.findall(rf"^(?:# )?{PREFIX}(\S+) =", above, re.MULTILINE))
    parts = []
    for section in SECTIONS:
        lines = [line for each in definitions(section) if each.key not in named
                 for line in commented(each)]  # fmt: skip
        parts.append("".join(lines))
    return above + OTHERS + "\n" + "\n".join(filter(None, parts)) + "\n" + server(rest)


def commented(each):
    """The lines of one setting in an ini file: its comment, and the key with its default."""
    yield textwrap.fill(each.comment, 100, initial_indent="# ", subsequent_indent="# ",
                        break_long_words=False, break_on_hyphens=False) + "\n"  # fmt: skip
    yield f"# {PREFIX}{each.key} = {each.default or ''}".rstrip() + "\n"


def server(text):
    """The part of an ini file that begins with the section of `pserve`."""
    return SERVER + text.partition(SERVER)[2]


def write():
    """Write all three files."""
    PAGE.write_text(page(), "utf-8")
    for path in INIS:
        path.write_text(ini(path), "utf-8")


if __name__ == "__main__":
    write()
