"""``authsite resource …``"""

from uuid import UUID

import click

from authsite.oauth import resources
from authsite.oauth.models import JWT, OPAQUE, Resource
from authsite.oauth.oidc.availability import is_on_with, why_off
from authsite.oauth.scopes import OPENID_SCOPES
from authsite.platform.command_line.results import Data, Done, Facts, Listing, result_command
from authsite.platform.command_line.shared import examples, transaction
from authsite.platform.context import Context
from authsite.platform.runtime import clock
from authsite.platform.runtime.ids import as_client_id
from authsite.platform.settings import Settings

_SAMPLE = "https://mcp.example.com/"
_SERVER = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
COLUMNS = {
    "uri": "uri",
    "scopes": "scopes",
    "client": "client_id",
    "tokens": "tokens",
    "created": "created_at",
}
_TOKENS = click.Choice([OPAQUE, JWT])


@click.group()
def resource() -> None:
    """Resources that tokens can be for."""


@resource.command(
    epilog=examples(f"authsite resource add {_SAMPLE} --scope 'mcp:read' --client {_SERVER}")
)
@click.argument("uri", metavar="URI")
@click.option("--scope", required=True, help="The scopes that its tokens may have.")
@click.option("--client", metavar="ID", help="The resource server that may introspect its tokens.")
@click.option(
    "--tokens",
    type=_TOKENS,
    default=OPAQUE,
    help="opaque (default): it asks authsite about each token. jwt: it checks tokens itself, with "
    "the public keys, and learns of a revocation when the token expires.",
)
@result_command
def add(cfg: Settings, uri: str, scope: str, client: str | None, tokens: str) -> Facts:
    """Register a resource.

    A client that names it gets tokens for it alone. No other API accepts them.
    """
    _require_configured(cfg, scope)
    _require_keys(cfg, tokens)
    with transaction(cfg) as ctx:
        try:
            made = resources.add(ctx, uri, scope, _client_id(client) if client else None, tokens)
        except ValueError as error:
            raise click.ClickException(str(error)) from None
        return Facts("The resource:", _facts(made))


@resource.command("list", epilog=examples("authsite resource list --json"))
@result_command
def list_(cfg: Settings) -> Listing:
    """List the resources, the oldest first."""
    with transaction(cfg) as ctx:
        rows = [_facts(row) for row in resources.rows(ctx)]
    empty = "No resources yet. Register one with `authsite resource add`."
    return Listing("resources", rows, len(rows), COLUMNS, empty)


@resource.command(
    epilog=examples(f"authsite resource update {_SAMPLE} --scope 'mcp:read mcp:write'")
)
@click.argument("uri", metavar="URI")
@click.option("--scope", help="The scopes that its tokens may have.")
@click.option("--client", metavar="ID", help="Its resource server; empty for none.")
@click.option("--tokens", type=_TOKENS, help="The form of its access tokens.")
@result_command
def update(
    cfg: Settings, uri: str, scope: str | None, client: str | None, tokens: str | None
) -> Done:
    """Change the scopes, the server and the tokens of a resource.

    Without an option its value stays as it is. Tokens stay as they are until they are refreshed.
    """
    if scope is None and client is None and tokens is None:
        raise click.UsageError("nothing to change: give --scope, --client or --tokens")
    _require_configured(cfg, scope or "")
    _require_keys(cfg, tokens)
    with transaction(cfg) as ctx:
        found = _find(ctx, uri)
        try:
            server = _client_id(client) if client else client
            resources.change(ctx, found, scopes=scope, client_id=server, tokens=tokens)
        except ValueError as error:
            raise click.ClickException(str(error)) from None
        return Done("The resource is changed.", _facts(found))


@resource.command(epilog=examples(f"authsite resource remove {_SAMPLE}"))
@click.argument("uri", metavar="URI")
@result_command
def remove(cfg: Settings, uri: str) -> Done:
    """Remove a resource.

    No resource server may introspect its tokens any more, and none of them is refreshed.
    """
    with transaction(cfg) as ctx:
        found = _find(ctx, uri)
        facts = _facts(found)
        try:
            resources.remove(ctx, found)
        except ValueError as error:
            raise click.ClickException(str(error)) from None
        return Done("The resource is removed.", facts)


def _facts(row: Resource) -> Data:
    return {
        "uri": row.uri,
        "scopes": row.scopes,
        "client_id": str(row.client_id) if row.client_id else None,
        "tokens": row.tokens,
        "created_at": clock.rfc3339(row.created_at),
    }


def _find(ctx: Context, uri: str) -> Resource:
    found = resources.find_row(ctx, uri)
    if found is None:
        raise click.ClickException(
            f"no resource has the URI {uri!r}; `authsite resource list` shows them"
        )
    return found


def _client_id(text: str) -> UUID:
    found = as_client_id(text.lower())
    if found is None:
        raise ValueError(
            f"{text!r} is no id of a client; `authsite client list --type resource-server` shows "
            "them"
        )
    return found


def _require_configured(cfg: Settings, scope: str) -> None:
    """Raise an error of the command for a scope that is not in ``authsite.scopes``."""
    unknown = set(scope.split()) - {*cfg.scopes, *OPENID_SCOPES} if cfg.scopes else set()
    if unknown:
        raise click.ClickException(
            f"unknown scope {', '.join(sorted(unknown))}: add it to authsite.scopes, which has "
            f"{', '.join(cfg.scopes)}"
        )


def _require_keys(cfg: Settings, tokens: str | None) -> None:
    """Raise an error of the command for tokens that no key would sign."""
    if tokens == JWT and not is_on_with(cfg, standalone=True):
        raise click.ClickException(
            f"the keys that sign such tokens are part of OpenID Connect, which is off: "
            f"{why_off(cfg)}"
        )
