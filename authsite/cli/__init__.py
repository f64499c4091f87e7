"""The command line. A table names the module of each command, which is imported when it runs."""

from importlib import import_module
from keyword import iskeyword

import click

COMMANDS = {
    "init": (
        "authsite.cli.init",
        "Create the schema, the secret and the web client.",
    ),
    "serve": ("authsite.cli.serve", "Run the service."),
    "client": (
        "authsite.oauth.cli",
        "OAuth clients and their secrets.",
    ),
    "user": ("authsite.users.cli", "Users: accounts, sign-ins, stored data."),
    "export": ("authsite.exporting.cli", "Users, clients and the audit trail as JSON Lines."),
    "import": ("authsite.importing.cli", "Users and clients of another system."),
    "mail": ("authsite.mail.cli", "The outbox: send, list and retry mails."),
    "audit": ("authsite.audit.cli", "The audit trail."),
    "explain": ("authsite.audit.cli", "Say what happened in a request, and why it was rejected."),
    "db": ("authsite.cli.db", "The database: schema, backup, restore."),
    "purge": ("authsite.cli.purge", "Delete what has expired."),
    "doctor": ("authsite.cli.doctor", "Check the set-up, for now and for production."),
    "secret": ("authsite.cli.secret", "Make and rotate secrets."),
}


class LazyGroup(click.Group):
    """A group that imports a command only when it runs, so that each command starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        attribute = f"{name}_" if iskeyword(name) else name
        command: click.Command = getattr(import_module(COMMANDS[name][0]), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # From the table: click's own listing would import all commands.
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="authsite COMMAND --help describes a command. docs/cli.md has them all, and says how to "
    "complete their names with Tab.",
)
@click.version_option(package_name="authsite")
def authsite() -> None:
    """OAuth 2.0 tokens, login pages, and guards."""


def main() -> None:
    """The console script."""
    authsite(prog_name="authsite")
