"""``authsite secret new``"""

import secrets

import click

from .shared import examples, json_option, print_json


@click.group()
def secret() -> None:
    """Make secrets."""


@secret.command(epilog=examples("authsite secret new"))
@json_option
def new(as_json: bool) -> None:
    """Print a new secret for authsite.secret.

    It is 48 random bytes in base64url.
    """
    made = secrets.token_urlsafe(48)
    if as_json:
        return print_json({"secret": made})
    click.echo(made)
