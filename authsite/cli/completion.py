"""``authsite completion``: the script that completes commands and options with Tab."""

import click
from click.shell_completion import get_completion_class

from .shared import examples

SHELLS = ("bash", "zsh", "fish")


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
