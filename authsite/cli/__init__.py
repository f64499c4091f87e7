"""The command line. A table names the module of each command, which is imported when it runs."""

import atexit
import gc
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword
from os.path import exists
from typing import Any, NoReturn

import click

from authsite.server.worker import no_collections

COMMANDS = {
    "init": (
        "authsite.cli.init",
        "Create the schema, the keys and the web client.",
    ),
    "serve": ("authsite.cli.serve", "Run the service."),
    "client": (
        "authsite.oauth.cli",
        "OAuth clients and their secrets.",
    ),
    "resource": ("authsite.oauth.cli", "Resources that tokens can be for."),
    "user": ("authsite.admin.users.cli", "Users: accounts, sign-ins, stored data."),
    "group": ("authsite.groups.cli", "Groups of users, and the scopes that they give."),
    "admin": ("authsite.groups.cli", "Who administers this installation."),
    "invitation": ("authsite.invitations.cli", "Open invitations, which `user invite` makes."),
    "token": ("authsite.oauth.cli", "One token: whose it is, and end it."),
    "keys": ("authsite.oauth.oidc.cli", "The keys that sign ID tokens."),
    "export": (
        "authsite.transfer.exporting.cli",
        "Users, clients and the audit trail as JSON Lines.",
    ),
    "import": ("authsite.transfer.importing.cli", "Users and clients of another system."),
    "mail": ("authsite.admin.mail.cli", "The outbox: send, list and retry mails."),
    "audit": ("authsite.admin.audit.cli", "The audit trail."),
    "explain": (
        "authsite.admin.audit.cli",
        "Say what happened in a request, and why it was rejected.",
    ),
    "db": ("authsite.cli.db", "The database: schema, backup, restore."),
    "purge": ("authsite.cli.purge", "Delete what has expired."),
    "doctor": ("authsite.cli.doctor", "Check the set-up, for now and for production."),
    "settings": ("authsite.cli.settings", "Show what the settings are."),
    "secret": ("authsite.cli.secret", "Make and rotate secrets."),
    "completion": ("authsite.cli.help", "Print the completion script of a shell."),
    "help": ("authsite.cli.help", "Print the help of a command."),
}
ALIASES = {
    "users": "user",
    "clients": "client",
    "resources": "resource",
    "tokens": "token",
    "groups": "group",
    "invitations": "invitation",
}
# Names that others have for a command, which no spelling comes near to.
_OTHERWISE = {"config": "settings", "check": "doctor", "logs": "audit", "migrate": "db"}
_CUTOFF = 0.5  # of what is similar to a misspelled name; click's own is 0.6, without aliases
_BUILT_IN = ("help",)  # names of functions that a command must not have


class LazyGroup(click.Group):
    """A group that imports a command only when it runs, so that each command starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        name = ALIASES.get(name, name)
        if name not in COMMANDS:
            return None
        attribute = f"{name}_" if iskeyword(name) or name in _BUILT_IN else name
        with no_collections():
            command: click.Command = getattr(import_module(COMMANDS[name][0]), attribute)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an argument that is not UTF-8, unless it is the path of a file."""
        for each in args:
            if any("\udc80" <= character <= "\udcff" for character in each) and not exists(each):
                shown = each.encode("ascii", "backslashreplace").decode()
                raise click.UsageError(
                    f"The argument '{shown}' is not UTF-8. Use a terminal and a locale with UTF-8.",
                    ctx,
                )
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name[:1] != "-" and self.get_command(ctx, name) is None and not ctx.resilient_parsing:
            raise click.UsageError(_unknown(name), ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. A database file that cannot be made is an error of every command."""
        try:
            return super().invoke(ctx)
        except RuntimeError as error:
            from authsite.platform.db.sqlite_files import UnusableFile

            if not isinstance(error, UnusableFile):
                raise
            raise click.ClickException(str(error)) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # From the table: click's own listing would import all commands.
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def main(self, args: Sequence[str] | None = None, *more: Any, **options: Any) -> Any:
        """Run a command. With ``--json`` an error is a JSON object on stderr, with its status."""
        given = list(sys.argv[1:] if args is None else args)
        if "--json" not in given or not options.get("standalone_mode", True):
            return super().main(args, *more, **options)
        try:
            status = super().main(args, *more, **{**options, "standalone_mode": False})
        except click.Abort:
            _print_error("aborted", "aborted", 1)
        except click.ClickException as error:
            code = "usage" if isinstance(error, click.UsageError) else "failed"
            _print_error(code, error.format_message(), error.exit_code)
        sys.exit(status if isinstance(status, int) else 0)


def _print_error(code: str, message: str, status: int) -> NoReturn:
    click.echo(json.dumps({"error": {"code": code, "message": message}}), err=True)
    sys.exit(status)


def _unknown(name: str) -> str:
    """The error for a command that does not exist, with those that are similar."""
    from difflib import get_close_matches  # only for a misspelled command

    known = [*COMMANDS, *ALIASES]
    similar = get_close_matches(name, known, n=3, cutoff=_CUTOFF)
    similar = [_OTHERWISE[name]] if name in _OTHERWISE else similar
    names = list(dict.fromkeys(ALIASES.get(each, each) for each in similar))
    meant = f" Did you mean {' or '.join(map(repr, names))}?" if names else ""
    return f"No such command {name!r}.{meant} `authsite help` lists all."


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="authsite help COMMAND, or COMMAND --help, describes a command; docs/cli.md has them "
    "all. Status: 0 it was done, 1 it could not be done, 2 wrong usage. With --json an error is "
    'an object on stderr: {"error": {"code", "message"}}.',
)
@click.version_option(package_name="authsite")
def authsite() -> None:
    """OAuth 2.0 tokens, login pages, and guards."""


def main() -> None:
    """The console script."""
    atexit.register(gc.freeze)  # the collections of the interpreter's end find nothing to search
    authsite(prog_name="authsite")
