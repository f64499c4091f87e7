"""What authsite leaves out: ``docs/absent.toml``, and the tables that are made from it.

``python -m tests.support.absences`` writes the tables of ``README.md`` and ``docs/index.md``.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "docs/absent.toml"
PAGES = (ROOT / "README.md", ROOT / "docs/index.md")
HEAD = "| left out | why | instead |\n|---|---|---|\n"


@dataclass(frozen=True)
class Absence:
    """A thing that authsite leaves out; ``words`` name it where it would be built."""

    name: str
    words: list[str]
    why: str
    instead: str

    def is_named_in(self, text):
        """Whether ``text`` has one of the words, in the singular or the plural."""
        words = "|".join(map(re.escape, self.words))
        return bool(re.search(rf"(?<![a-z])(?:{words})s?(?![a-z])", text.casefold()))


def absences():
    """The rows of the file."""
    return [Absence(**row) for row in tomllib.loads(SOURCE.read_text("utf-8"))["absent"]]


def table(page):
    """The table of ``page``, with links as they are from there."""
    rows = "".join(f"| {each.name} | {each.why} | {each.instead} |\n" for each in absences())
    return HEAD + (rows if page.parent == ROOT else rows.replace("(docs/", "("))


def with_table(page):
    """The text of ``page`` with its table written again."""
    text, count = re.subn(
        re.escape(HEAD) + r"(?:\|.*\n)*", lambda _: table(page), page.read_text("utf-8")
    )
    if count != 1:
        raise LookupError(f"{page} has no table of what is left out")
    return text


if __name__ == "__main__":
    for each in PAGES:
        each.write_text(with_table(each), "utf-8")
