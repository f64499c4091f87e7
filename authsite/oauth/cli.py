"""``authsite client …``"""

import uuid
from typing import Any

import click

from authsite import clock
from authsite.cli.shared import (
    config_option,
    json_option,
    print_facts,
    print_json,
    print_table,
    source,
    transaction,
)
from authsite.settings import Settings

from . import clients
from .models import CLIENT_TYPES, Client

ONCE = "The secret is shown this once and stored only as a hash: keep it now."


@click.group()
def client() -> None:
    """OAuth clients."""


@client.command()
@click.option("--name", required=True, help="For people to tell clients apart.")
@click.option("--type", "type_", required=True, type=click.Choice(CLIENT_TYPES))
@click.option("--scope", default="", help="The scopes it may ask for, separated by blanks.")
@click.option("--default-scope", default="", help="What it gets when it asks for none.")
@json_option
@config_option
def create(
    cfg: Settings, name: str, type_: str, scope: str, default_scope: str, as_json: bool
) -> None:
    """Register a client and show its secret."""
    unknown = set(scope.split()) - set(cfg.scopes) if cfg.scopes else set()
    if unknown:
        raise click.ClickException(
            f"unknown scope {', '.join(sorted(unknown))}: authsite.scopes has "
            f"{', '.join(cfg.scopes)}"
        )
    with transaction(cfg) as db:
        try:
            made, secret = clients.create(
                db, clock.now(), source(), name, type_, scope, default_scope
            )
        except ValueError as error:
            raise click.ClickException(str(error)) from None
    _show(made, secret, as_json)


@client.command("list")
@json_option
@config_option
def list_(cfg: Settings, as_json: bool) -> None:
    """List the clients; never their secrets."""
    with transaction(cfg) as db:
        rows: list[dict[str, Any]] = [
            {
                "client_id": str(item.id),
                "name": item.name,
                "type": item.type,
                "scope": item.scope,
                "default_scope": item.default_scope,
                "secrets": 2 if item.previous_secret_hash else 1,
                "enabled": item.disabled_at is None,
                "created_at": clock.rfc3339(item.created_at),
            }
            for item in clients.listing(db)
        ]
    if as_json:
        return print_json({"clients": rows})
    print_table(
        ("client_id", "name", "type", "scope", "secrets", "enabled", "created"),
        [
            (r["client_id"], r["name"], r["type"], r["scope"] or "–", str(r["secrets"]),
             "yes" if r["enabled"] else "no", r["created_at"])
            for r in rows
        ],
        empty="No clients yet. Make one with `authsite client create`.",
    )  # fmt: skip


@client.command("rotate-secret")
@click.argument("client_id", metavar="ID")
@json_option
@config_option
def rotate_secret(cfg: Settings, client_id: str, as_json: bool) -> None:
    """Give the client a new secret; the old one works until `retire-secret`."""
    with transaction(cfg) as db:
        found = _find(db, client_id)
        secret = clients.rotate_secret(db, clock.now(), source(), found)
    _show(found, secret, as_json)


@client.command("retire-secret")
@click.argument("client_id", metavar="ID")
@config_option
def retire_secret(cfg: Settings, client_id: str) -> None:
    """End the older of two secrets, once nothing uses it any more."""
    with transaction(cfg) as db:
        clients.retire_secret(db, clock.now(), source(), _find(db, client_id))
    click.echo("The older secret no longer works.")


@client.command()
@click.argument("client_id", metavar="ID")
@config_option
def disable(cfg: Settings, client_id: str) -> None:
    """Refuse the client, and end all its tokens at once."""
    with transaction(cfg) as db:
        clients.disable(db, clock.now(), source(), _find(db, client_id).id)
    click.echo("The client is disabled and its tokens are revoked.")


def _find(db: Any, client_id: str) -> Client:
    try:
        found: Client | None = db.get(Client, uuid.UUID(client_id))
    except ValueError:
        found = None
    if found is None:
        raise click.ClickException(
            f"no client has the id {client_id!r}; `authsite client list` shows them"
        )
    return found


def _show(made: Client, secret: str, as_json: bool) -> None:
    facts = {
        "client_id": str(made.id),
        "client_secret": secret,
        "name": made.name,
        "type": made.type,
    }
    if as_json:
        return print_json(facts)
    print_facts("The client's credentials:", facts)
    click.echo(ONCE)
