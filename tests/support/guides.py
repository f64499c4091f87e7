"""The guides of docs/, so that tests run what they say.

A block of code is marked with its title:

- "In a separate terminal": a program that runs until it is stopped;
- "Before make serve": commands that must run before the service starts;
- "Not run by our tests": what no test can run, such as an installation from a package index;
- the name of a file: what the file contains.
"""

import re
import textwrap
from dataclasses import dataclass

from tests.support.home import CHECKOUT

FENCE = re.compile(r'^( *)```([\w-]*)(?: title="([^"]+)")?\n(.*?)^\1```$', re.MULTILINE | re.DOTALL)
TERMINAL = "In a separate terminal"
BEFORE = "Before make serve"
NOT_RUN = "Not run by our tests"
OUTPUT = ("text", "json")


@dataclass(frozen=True)
class Block:
    """A block of code: its language, its title or None, and its text."""

    language: str
    title: str | None
    text: str

    @property
    def is_file(self):
        """Whether the title is the name of a file."""
        return bool(self.title) and bool(re.fullmatch(r"[\w./-]+\.\w+", self.title))


def blocks(page):
    """The blocks of ``page``, a file of docs/ without its ending or a path from the top."""
    path = CHECKOUT / (page if "." in page else f"docs/{page}.md")
    return [
        Block(language, title or None, textwrap.dedent(text))
        for _, language, title, text in FENCE.findall(path.read_text("utf-8"))
    ]


def commands(page):
    """The shell commands of ``page``: those that are not marked."""
    return [each for each in blocks(page) if each.language == "sh" and each.title is None]


def with_output(page):
    """Each block that runs, with a pattern of its output or ""; ``…`` stands for any word."""
    found = blocks(page)
    for number, block in enumerate(found):
        if block.language == "sh" and block.title in (None, TERMINAL):
            following = found[number + 1] if number + 1 < len(found) else None
            shown = following and following.language in OUTPUT and not following.title
            yield block, pattern(following.text) if shown else ""


def pattern(text):
    """A pattern of an output."""
    return re.escape(text.strip()).replace("…", r"[^ ]+")
