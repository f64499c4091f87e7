"""The command line. Each room brings its commands; one is loaded only when it is called."""

from importlib import import_module
from typing import Any

import click

COMMANDS = {
    "init": (
        "authsite.cli.init",
        "Make the schema, the secret and the web client; safe to repeat.",
    ),
    "serve": ("authsite.cli.serve", "Run the service."),
    "client": ("authsite.oauth.cli", "OAuth clients: create, list, rotate-secret, disable."),
    "user": ("authsite.users.cli", "Users: create, list, disable, set-password, sign-out."),
    "mail": ("authsite.mail.cli", "Mails: send, list, retry."),
    "db": ("authsite.cli.db", "The database schema."),
    "purge": ("authsite.cli.purge", "Delete what has expired."),
    "doctor": ("authsite.cli.doctor", "Check the set-up, and say what production needs."),
    "secret": ("authsite.cli.secret", "Make secrets."),
}


class Rooms(click.Group):
    """A group whose commands are imported when they are used, so that each starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(COMMANDS[name][0]), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # From the table: listing the commands shall not load them all.
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])


@click.group(cls=Rooms, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="authsite")
def authsite() -> None:
    """authsite: OAuth 2.0 tokens, login pages, and guards."""


def main() -> Any:
    """The console script."""
    return authsite(prog_name="authsite")
