"""The reference of all commands, from their own help: ``python -m tests.support.cli_reference``."""

from pathlib import Path

import click

from authsite.cli import authsite

PAGE = Path(__file__).parents[2] / "docs/cli.md"
BEGIN = "<!-- Generated from the code by `make cli-reference`. -->\n"


def commands(group=authsite, context=None):
    """(context, command) of every command below ``group``, in the order of the help."""
    context = context or click.Context(
        group, info_name="authsite", terminal_width=90, **authsite.context_settings
    )
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        below = click.Context(command, parent=context, info_name=name)
        yield below, command
        if isinstance(command, click.Group):
            yield from commands(command, below)


def reference():
    """The generated part of the page."""
    parts = []
    for context, command in commands():
        path = context.command_path
        text = f"```text\n{command.get_help(context)}\n```"
        if isinstance(command, click.Group):
            text = command.help
        level = "#" * len(path.split())
        parts.append(f"{level} {path}\n\n{text}\n")
    return "\n".join(parts)


def page():
    """The whole page, with what is written by hand as it is."""
    return PAGE.read_text("utf-8").partition(BEGIN)[0] + BEGIN + "\n" + reference()


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
