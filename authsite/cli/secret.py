"""``authsite secret new``"""

import secrets

import click


@click.group()
def secret() -> None:
    """Make secrets."""


@secret.command()
def new() -> None:
    """Print a new secret for authsite.secret: 48 random bytes, base64url."""
    click.echo(secrets.token_urlsafe(48))
