"""Every command: its help, its examples, and docs/cli.md, which is made from them."""

import os
import shlex
import subprocess
import sys

import click
import pytest

from authsite.cli import COMMANDS, authsite
from tests.support.cli_reference import PAGE, commands, page

ALL = [(context.command_path, context, command) for context, command in commands()]
LEAVES = [each for each in ALL if not isinstance(each[2], click.Group)]
WITHOUT_SETTINGS = {"authsite completion", "authsite help"}  # they print text alone
NO_JSON = {"authsite serve"}  # runs until it is stopped


def by_path(items):
    return pytest.mark.parametrize(
        ("context", "command"), [each[1:] for each in items], ids=[each[0] for each in items]
    )


def test_docs_cli_md_is_what_make_cli_reference_writes():
    assert PAGE.read_text("utf-8") == page()


@by_path(ALL)
def test_m16_the_short_help_of_a_command_is_whole(context, command):
    assert command.get_short_help_str(limit=60).endswith(".")
    assert "..." not in command.get_short_help_str(limit=60)


def test_m16_the_overview_says_what_each_command_says_of_itself():
    for name, (_, summary) in COMMANDS.items():
        context = click.Context(authsite)
        assert authsite.get_command(context, name).get_short_help_str(limit=60) == summary


@by_path(LEAVES)
def test_m16_a_command_has_examples_that_it_understands(context, command):
    lines = (command.epilog or "").partition("Examples:\n")[2].splitlines()
    assert lines
    for line in lines:
        words = shlex.split(line.partition(" > ")[0].rpartition(" | ")[2])
        path = context.command_path.split()
        assert words[: len(path)] == path
        command.make_context(context.command_path, words[len(path) :], resilient_parsing=False)


@by_path(LEAVES)
def test_every_command_takes_config_and_json_and_every_option_has_a_help_text(context, command):
    options = [each for each in command.params if isinstance(each, click.Option)]
    if context.command_path not in WITHOUT_SETTINGS:
        assert any("--config" in each.opts for each in options)
        has_json = any("--json" in each.opts for each in options)
        assert has_json == (context.command_path not in NO_JSON)
    assert [each.name for each in options if not each.help] == []


def test_the_shell_completes_commands():
    variables = {
        "_AUTHSITE_COMPLETE": "bash_complete",
        "COMP_WORDS": "authsite user set-",
        "COMP_CWORD": "2",
    }
    done = subprocess.run(
        [sys.executable, "-c", "from authsite.cli import main; main()"],
        capture_output=True, text=True, env={**os.environ, **variables},
    )  # fmt: skip
    assert done.stdout.split() == ["plain,set-email", "plain,set-password"]
