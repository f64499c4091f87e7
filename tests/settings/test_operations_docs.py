"""docs/operations.md: the commands that an operator types at night exist, and are short."""

import re
import shlex
import subprocess

import click
import pytest

from authsite.cli import authsite
from authsite.platform.settings.sources import unknown_variables
from tests.support.home import CHECKOUT

TEXT = (CHECKOUT / "docs/operations.md").read_text(encoding="utf-8")
SHELL = re.findall(r"^```sh\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
SECTIONS = re.split(r"^#+ ", TEXT, flags=re.MULTILINE)[1:]


@pytest.mark.parametrize("text", SHELL)
def test_a_block_is_shell(text):
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda text: text.split("\n")[0])
def test_no_section_has_more_than_ten_commands(section):
    blocks = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert sum(len(block.splitlines()) for block in blocks) <= 10


def lines():
    """The commands of authsite in the blocks, without what is around them."""
    for block in SHELL:
        for line in block.splitlines():
            for part in re.split(r"[|]|#.*", line):
                if part.strip().startswith("authsite ") or part.strip() == "authsite":
                    yield part.strip()


@pytest.mark.parametrize("line", sorted(set(lines())))
def test_a_command_exists_with_its_options(line):
    words = shlex.split(line.split(">")[0])[1:]
    command, context = authsite, click.Context(authsite, **authsite.context_settings)
    while isinstance(command, click.Group):
        command = command.get_command(context, words.pop(0))
        assert command is not None, line
    command.make_context("authsite", words, parent=context)  # raises for what it does not know


def test_every_variable_is_one_of_ours():
    named = set(re.findall(r"AUTHSITE_[A-Z_]+", TEXT)) - {"AUTHSITE_CONFIG"}
    assert unknown_variables(dict.fromkeys(named, "x")) == []


def test_every_link_leads_to_a_section():
    for page, anchor in re.findall(r"\]\(([\w./]*)#([\w-]+)\)", TEXT):
        text = (CHECKOUT / "docs" / (page or "operations.md")).read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        assert anchor in {
            re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings
        }


@pytest.mark.parametrize(
    "page",
    [CHECKOUT / "CHANGELOG.md", *(CHECKOUT / "docs").glob("*.md")],
    ids=lambda page: page.name,
)
def test_no_page_has_the_marks_of_a_merge_conflict(page):
    assert not re.search(r"^(<<<<<<<|=======|>>>>>>>)( |$)", page.read_text("utf-8"), re.MULTILINE)
