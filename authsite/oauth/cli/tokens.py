"""``authsite token …``"""

import sys
from uuid import UUID

import click

from authsite.oauth import resources
from authsite.oauth.models import JWT, OPAQUE, PersonalToken, Resource
from authsite.oauth.oidc.availability import is_on_with, why_off
from authsite.oauth.scopes import OPENID_SCOPES
from authsite.oauth.tokens import introspection, scope_loss
from authsite.oauth.tokens.introspection import Inspected
from authsite.platform.command_line.results import Data, Done, Facts, Listing, result_command
from authsite.platform.command_line.shared import examples, session, transaction
from authsite.platform.context import Context
from authsite.platform.runtime import clock
from authsite.platform.runtime.ids import as_client_id
from authsite.platform.settings import Settings
from authsite.users import account
from authsite.users.listing import named


@click.group()
def token() -> None:
    """One token: whose it is, and end it."""


def _only_dash(_ctx: click.Context, _argument: click.Parameter, given: str | None) -> str | None:
    if given not in ("-", None):
        raise click.BadParameter(
            "others can see the arguments of a command: give - here, and the token as input"
        )
    return given


token_argument = click.argument("dash", metavar="-", callback=_only_dash)


@token.command(
    epilog=examples(
        "authsite token show -",
        "xclip -o | authsite token show - --json",
    )
)
@token_argument
@result_command
def show(cfg: Settings, dash: str) -> Facts:
    """Say whose a token is, and whether it is active.

    It says why a token is not active, and for whom an active one is: a resource server that may not
    know of a token is told that it is inactive. The token is an access, refresh or personal access
    token, and is read from the input: others can see the arguments of a command. Ends with status 1
    for a text that is not a token of this installation.
    """
    text = _read_token()
    with transaction(cfg) as ctx:
        return _result(_inspect(ctx, text))


@token.command(
    epilog=examples(
        "authsite token revoke -",
        "xclip -o | authsite token revoke -",
        "authsite token revoke --scope payments:write",
    )
)
@click.argument("dash", metavar="[-]", required=False, callback=_only_dash)
@click.option("--scope", help="End every token that carries this scope, and give no token.")
@result_command
def revoke(cfg: Settings, dash: str | None, scope: str | None) -> Done:
    """End a token, and the others of its login.

    A personal access token ends alone. The token is read as in `token show`. A token that is dead
    already stays so: the status is 0, and the reason is printed.

    With --scope all tokens end that carry the scope, of users and clients: such as those that were
    issued before the setting scopes marked it with [groups].
    """
    if (dash is None) == (scope is None):
        raise click.UsageError("give - and the token as input, or --scope and the name of a scope")
    if scope is not None:
        return _revoke_scope(cfg, scope)
    text = _read_token()
    with transaction(cfg) as ctx:
        before = _inspect(ctx, text)
        introspection.revoke(ctx, before)
        found = _inspect(ctx, text)
        if before.ended:
            return Done(f"It had ended already: {before.ended}.", _facts(found))
        of = f" of {named(found.user)}" if found.user else ""
        personal = isinstance(before.row, PersonalToken)
        others = "" if personal else ", and all others of the same login"
        return Done(f"The {found.kind}{of} is revoked{others}.", _facts(found))


def _revoke_scope(cfg: Settings, scope: str) -> Done:
    count, after, more = 0, None, True
    with session(cfg) as ctx:
        while more:
            with ctx.db.begin():
                number, after = scope_loss.end_carrying(ctx, scope, after)
            count, more = count + number, after is not None
    text = f"Logins and personal access tokens that carried {scope} and are revoked: {count}."
    return Done(text, {"scope": scope, "revoked": count})


def _read_token() -> str:
    """The first line of the input, or what is typed at the prompt of a terminal."""
    if sys.stdin.isatty():
        typed: str = click.prompt("Token", hide_input=True)
        return typed.strip()
    return sys.stdin.readline().strip()


def _inspect(ctx: Context, text: str) -> Inspected:
    found = introspection.inspect(ctx, text)
    if found is None:
        raise click.ClickException(
            "this is not a token of this installation: it is damaged, another authsite has issued "
            "it, or it was made with a secret that is not set any more"
        )
    return found


def _result(found: Inspected) -> Facts:
    row, user, client = found.row, found.user, found.client
    personal = isinstance(row, PersonalToken)
    shown = {"user": f"{named(user)} ({user.id})" if user else None}
    # A personal access token was issued to no client.
    shown["created with" if personal else "client"] = (
        f"{client.name} ({client.id})" if client else None
    )
    if row:
        shown["created" if personal else "login"] = (
            f"{clock.rfc3339(row.created_at)} from {row.address or '–'}"
        )
        shown["device"] = account.in_words(row.agent)
        shown["scope"] = row.scope
        if found.audience:
            shown["resource"] = found.audience
        if row.session_id:
            shown["session"] = str(row.session_id)
    shown["expires"] = clock.rfc3339(found.expires_at)
    shown["active"] = "yes" if found.reason is None else f"no: {found.reason}"
    if found.known_to.active:
        shown["for"] = ", ".join(found.known_to.active)
    for who, why in found.known_to.inactive:
        shown["not for"] = f"{who}: {why}"
    return Facts(found.kind.capitalize(), _facts(found), shown)


def _facts(found: Inspected) -> Data:
    personal = isinstance(found.row, PersonalToken)  # it was issued to no client
    return {
        "active": found.reason is None,
        "reason": found.reason,
        "active_for": list(found.known_to.active),
        "inactive_for": [{"who": who, "why": why} for who, why in found.known_to.inactive],
        "user": str(found.user.id) if found.user else None,
        "client": str(found.client.id) if found.client and not personal else None,
        "audience": found.audience,
        "session": str(found.row.session_id) if found.row and found.row.session_id else None,
        "expires_at": clock.rfc3339(found.expires_at),
    }


# ``authsite resource …``


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
        return Facts("The resource:", _resources_facts(made))


@resource.command("list", epilog=examples("authsite resource list --json"))
@result_command
def list_(cfg: Settings) -> Listing:
    """List the resources, the oldest first."""
    with transaction(cfg) as ctx:
        rows = [_resources_facts(row) for row in resources.rows(ctx)]
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
        return Done("The resource is changed.", _resources_facts(found))


@resource.command(epilog=examples(f"authsite resource remove {_SAMPLE}"))
@click.argument("uri", metavar="URI")
@result_command
def remove(cfg: Settings, uri: str) -> Done:
    """Remove a resource.

    No resource server may introspect its tokens any more, and none of them is refreshed.
    """
    with transaction(cfg) as ctx:
        found = _find(ctx, uri)
        facts = _resources_facts(found)
        try:
            resources.remove(ctx, found)
        except ValueError as error:
            raise click.ClickException(str(error)) from None
        return Done("The resource is removed.", facts)


def _resources_facts(row: Resource) -> Data:
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
