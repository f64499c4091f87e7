"""``authsite token …``"""

import sys
from typing import Any

import click

from authsite import clock
from authsite.cli.shared import (
    config_option,
    examples,
    json_option,
    print_facts,
    print_json,
    session,
    transaction,
)
from authsite.context import Context
from authsite.settings import Settings
from authsite.users import agents
from authsite.users.cli.shared import named

from .. import inspection, scope_loss
from ..inspection import Inspected


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
@json_option
@config_option
def show(cfg: Settings, dash: str, as_json: bool) -> None:
    """Say whose a token is, and whether it is active.

    It says why a token is not active. The token is an access, refresh or personal access token, and
    is read from the input: others can see the arguments of a command. Ends with status 1 for a text
    that is no token of this installation.
    """
    text = _read_token()
    with transaction(cfg) as ctx:
        found = _inspect(ctx, text)
    _print(found, as_json)


@token.command(
    epilog=examples(
        "authsite token revoke -",
        "xclip -o | authsite token revoke -",
        "authsite token revoke --scope payments:write",
    )
)
@click.argument("dash", metavar="[-]", required=False, callback=_only_dash)
@click.option("--scope", help="End every token that carries this scope, and give no token.")
@json_option
@config_option
def revoke(cfg: Settings, dash: str | None, scope: str | None, as_json: bool) -> None:
    """End a token, and all others of the same login.

    It is read as in `token show`. A token that is dead already stays so: the status is 0, and the
    reason is printed.

    With --scope all tokens end that carry the scope, of users and clients: such as those that were
    issued before the setting scopes marked it with [groups].
    """
    if (dash is None) == (scope is None):
        raise click.UsageError("give - and the token as input, or --scope and the name of a scope")
    if scope is not None:
        return _revoke_scope(cfg, scope, as_json)
    text = _read_token()
    with transaction(cfg) as ctx:
        before = _inspect(ctx, text)
        inspection.revoke(ctx, before)
        found = _inspect(ctx, text)
    if as_json:
        return _print(found, as_json)
    if before.ended:
        return click.echo(f"It had ended already: {before.ended}.")
    of = f" of {named(found.user)}" if found.user else ""
    click.echo(f"The {found.kind}{of} is revoked, and all others of the same login.")


def _revoke_scope(cfg: Settings, scope: str, as_json: bool) -> None:
    count, after, more = 0, None, True
    with session(cfg) as ctx:
        while more:
            with ctx.db.begin():
                number, after = scope_loss.end_carrying(ctx, scope, after)
            count, more = count + number, after is not None
    if as_json:
        return print_json({"scope": scope, "revoked": count})
    click.echo(f"Logins whose tokens carried {scope} and are revoked: {count}.")


def _read_token() -> str:
    """The first line of the input, or what is typed at the prompt of a terminal."""
    if sys.stdin.isatty():
        typed: str = click.prompt("Token", hide_input=True)
        return typed.strip()
    return sys.stdin.readline().strip()


def _inspect(ctx: Context, text: str) -> Inspected:
    found = inspection.inspect(ctx, text)
    if found is None:
        raise click.ClickException(
            "this is no token of this installation: it is damaged, another authsite has issued it, "
            "or it was made with a secret that is not set any more"
        )
    return found


def _print(found: Inspected, as_json: bool) -> None:
    if as_json:
        return print_json(_facts(found))
    family, user, client = found.family, found.user, found.client
    facts = {"user": f"{named(user)} ({user.id})" if user else "–"}
    facts["client"] = f"{client.name} ({client.id})" if client else "–"
    if family:
        facts["login"] = f"{clock.rfc3339(family.created_at)} from {family.address or '–'}"
        facts["device"] = agents.in_words(family.agent)
        facts["scope"] = family.scope or "–"
    facts["expires"] = clock.rfc3339(found.expires_at)
    facts["active"] = "yes" if found.reason is None else f"no: {found.reason}"
    print_facts(found.kind.capitalize(), facts)


def _facts(found: Inspected) -> dict[str, Any]:
    return {
        "active": found.reason is None,
        "reason": found.reason,
        "user": str(found.user.id) if found.user else None,
        "client": str(found.client.id) if found.client else None,
        "expires_at": clock.rfc3339(found.expires_at),
    }
