"""``authsite client …``"""

from typing import TypedDict

import click
from sqlalchemy.orm import Session

from authsite import clock
from authsite.cli.shared import (
    config_option,
    json_option,
    print_facts,
    print_json,
    print_table,
    transaction,
)
from authsite.ids import as_id
from authsite.settings import Settings

from . import clients
from .models import CLIENT_TYPES, Client

ONCE = "The secret is shown this once and stored only as a hash: keep it now."


class ClientFacts(TypedDict):
    """A client, as `list` and `show` print it."""

    client_id: str
    name: str
    type: str
    scope: str
    default_scope: str
    secrets: int
    enabled: bool
    created_at: str


@click.group()
def client() -> None:
    """OAuth clients."""


@client.command()
@click.option("--name", required=True, help="For people to tell clients apart.")
@click.option("--type", "client_type", required=True, type=click.Choice(CLIENT_TYPES))
@click.option("--scope", default="", help="The scopes it may ask for, separated by blanks.")
@click.option("--default-scope", default="", help="What it gets when it asks for none.")
@json_option
@config_option
def create(
    cfg: Settings, name: str, client_type: str, scope: str, default_scope: str, as_json: bool
) -> None:
    """Register a client and show its secret."""
    _require_configured(cfg, scope)
    with transaction(cfg) as ctx:
        try:
            client, secret = clients.create(ctx, name, client_type, scope, default_scope)
        except ValueError as error:
            raise click.ClickException(str(error)) from None
    _print_credentials(client, secret, as_json)


@client.command("list")
@json_option
@config_option
def list_(cfg: Settings, as_json: bool) -> None:
    """List the clients; never their secrets."""
    with transaction(cfg) as ctx:
        rows = [_facts(item) for item in clients.list_clients(ctx.db)]
    if as_json:
        return print_json({"clients": rows})
    print_table(
        ("client_id", "name", "type", "scope", "secrets", "enabled", "created"),
        [_table_row(facts) for facts in rows],
        empty="No clients yet. Make one with `authsite client create`.",
    )


@client.command()
@click.argument("client_id", metavar="ID")
@json_option
@config_option
def show(cfg: Settings, client_id: str, as_json: bool) -> None:
    """Show one client; never its secrets."""
    with transaction(cfg) as ctx:
        facts = _facts(_find(ctx.db, client_id))
    if as_json:
        return print_json(facts)
    shown = {key: str(value) or "–" for key, value in facts.items()}
    print_facts("The client:", shown | {"enabled": _yes_or_no(facts["enabled"])})


@client.command()
@click.argument("client_id", metavar="ID")
@click.option("--name", help="For people to tell clients apart.")
@click.option("--scope", help="The scopes it may ask for, separated by blanks.")
@click.option("--default-scope", help="What it gets when it asks for none.")
@config_option
def update(
    cfg: Settings, client_id: str, name: str | None, scope: str | None, default_scope: str | None
) -> None:
    """Change a client.

    Tokens that were issued under a wider scope end at once.
    """
    if name is None and scope is None and default_scope is None:
        raise click.UsageError("nothing to change: give --name, --scope or --default-scope")
    _require_configured(cfg, scope or "")
    with transaction(cfg) as ctx:
        found = _find(ctx.db, client_id)
        try:
            clients.change(ctx, found, name=name, scope=scope, default_scope=default_scope)
        except ValueError as error:
            raise click.ClickException(str(error)) from None
    click.echo("The client is changed.")


@client.command("rotate-secret")
@click.argument("client_id", metavar="ID")
@json_option
@config_option
def rotate_secret(cfg: Settings, client_id: str, as_json: bool) -> None:
    """Give the client a new secret.

    The old one works until `retire-secret`, or until the next rotation.
    """
    with transaction(cfg) as ctx:
        found = _find(ctx.db, client_id)
        secret = clients.rotate_secret(ctx, found)
    _print_credentials(found, secret, as_json)


@client.command("retire-secret")
@click.argument("client_id", metavar="ID")
@config_option
def retire_secret(cfg: Settings, client_id: str) -> None:
    """End the older of two secrets.

    Do so once nothing uses it any more.
    """
    with transaction(cfg) as ctx:
        found = _find(ctx.db, client_id)
        had_two = found.previous_secret_hash is not None
        if had_two:
            clients.retire_secret(ctx, found)
    click.echo(
        "The older secret no longer works."
        if had_two
        else "The client has only one secret, which still works. Nothing is changed: "
        "`authsite client rotate-secret` gives it a second one."
    )


@client.command()
@click.argument("client_id", metavar="ID")
@config_option
def disable(cfg: Settings, client_id: str) -> None:
    """Refuse the client, and end all its tokens at once."""
    with transaction(cfg) as ctx:
        clients.disable(ctx, _find(ctx.db, client_id).id)
    click.echo("The client is disabled and its tokens are revoked.")


@client.command()
@click.argument("client_id", metavar="ID")
@config_option
def enable(cfg: Settings, client_id: str) -> None:
    """Let a disabled client in again; its tokens stay revoked."""
    with transaction(cfg) as ctx:
        clients.enable(ctx, _find(ctx.db, client_id))
    click.echo("The client is enabled.")


def _facts(client: Client) -> ClientFacts:
    return {
        "client_id": str(client.id),
        "name": client.name,
        "type": client.type,
        "scope": client.scope,
        "default_scope": client.default_scope,
        "secrets": 2 if client.previous_secret_hash else 1,
        "enabled": client.disabled_at is None,
        "created_at": clock.rfc3339(client.created_at),
    }


def _table_row(facts: ClientFacts) -> tuple[str, ...]:
    return (
        facts["client_id"],
        facts["name"],
        facts["type"],
        facts["scope"] or "–",
        str(facts["secrets"]),
        _yes_or_no(facts["enabled"]),
        facts["created_at"],
    )


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


def _require_configured(cfg: Settings, scope: str) -> None:
    """Raise an error of the command for a scope that is not in ``authsite.scopes``."""
    unknown = set(scope.split()) - set(cfg.scopes) if cfg.scopes else set()
    if unknown:
        raise click.ClickException(
            f"unknown scope {', '.join(sorted(unknown))}: authsite.scopes has "
            f"{', '.join(cfg.scopes)}"
        )


def _find(db: Session, client_id: str) -> Client:
    uuid = as_id(client_id.lower())
    found = db.get(Client, uuid) if uuid else None
    if found is None:
        raise click.ClickException(
            f"no client has the id {client_id!r}; `authsite client list` shows them"
        )
    return found


def _print_credentials(client: Client, secret: str, as_json: bool) -> None:
    facts = {
        "client_id": str(client.id),
        "client_secret": secret,
        "name": client.name,
        "type": client.type,
    }
    if as_json:
        return print_json(facts)
    print_facts("The client's credentials:", facts)
    click.echo(ONCE)
