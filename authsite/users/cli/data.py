"""``authsite user export`` and ``delete``: the rights of the person whom the data are about."""

import json
import sys

import click

from authsite.cli.shared import config_option, examples, json_option, print_json, transaction
from authsite.settings import Settings

from .shared import find, user_argument


@click.command(epilog=examples("authsite user export ann@example.com > ann.json"))
@user_argument
@click.option("--json", "as_json", is_flag=True, help="Print the JSON object on one line.")
@config_option
def export(cfg: Settings, email_or_id: str, as_json: bool) -> None:
    """Print all that is stored about a user.

    It is one JSON object (GDPR, articles 15 and 20): user, login names, former addresses, sign-ins,
    personal access tokens, mails, audit events and rate limits; never a hash, a key or a secret.
    """
    from authsite.account import export as data

    with transaction(cfg) as ctx:
        found = data.export(ctx, find(ctx.db, email_or_id))
    if as_json:
        return print_json(found)
    click.echo(json.dumps(found, indent=2))


@click.command(epilog=examples("authsite user delete ann@example.com"))
@user_argument
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@config_option
def delete(cfg: Settings, email_or_id: str, yes: bool, as_json: bool) -> None:
    """Erase a user and all stored data.

    Tokens and sessions end at once, and the address is free again. The audit trail keeps the id.
    """
    from authsite.users.erasure import erase

    with transaction(cfg) as ctx:
        found = find(ctx.db, email_or_id)
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("there is no terminal to ask on: use --yes")
        question = f"Erase {found.email} ({found.id}) and all data? This cannot be undone."
        click.confirm(question, abort=True)
    with transaction(cfg) as ctx:
        erase(ctx, find(ctx.db, str(found.id)).id, None, why="administrator")
    if as_json:
        return print_json({"id": str(found.id), "email": found.email, "deleted": True})
    click.echo(f"{found.email} is erased.")
