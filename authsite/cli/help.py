"""``authsite help`` and ``authsite completion``: the help of a command, and the Tab key."""

import click
from click.shell_completion import get_completion_class

from authsite.platform.command_line.shared import examples

SHELLS = ("bash", "zsh", "fish")


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


@click.command(
    epilog=examples(
        "authsite completion bash > ~/.local/share/bash-completion/completions/authsite",
        "authsite completion zsh > ~/.zfunc/_authsite",
        "authsite completion fish > ~/.config/fish/completions/authsite.fish",
    )
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    It completes the names of commands and options with the Tab key.
    """
    script = get_completion_class(shell)
    if script is None:
        raise click.ClickException(f"{shell} is not supported: give one of {', '.join(SHELLS)}")
    program = ctx.find_root().info_name or "authsite"
    click.echo(script(ctx.find_root().command, {}, program, "_AUTHSITE_COMPLETE").source())
