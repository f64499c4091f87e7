"""``authsite help``: the help of a command."""

import click

from .shared import examples


@click.command(epilog=examples("authsite help", "authsite help client create"))
@click.argument("command", nargs=-1)
@click.pass_context
def help_(ctx: click.Context, command: tuple[str, ...]) -> None:
    """Print the help of a command.

    It is that of COMMAND --help.
    """
    shown = ctx.find_root()
    for name in command:
        if not isinstance(shown.command, click.Group):
            raise click.UsageError(f"{shown.command_path} has no commands", ctx)
        _, found, _ = shown.command.resolve_command(shown, [name])
        if found is None:
            raise click.UsageError(f"{shown.command_path} has no command {name!r}", ctx)
        shown = click.Context(found, parent=shown, info_name=found.name)
    click.echo(shown.command.get_help(shown))
