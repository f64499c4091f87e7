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
    transaction,
)
from authsite.context import Context
from authsite.settings import Settings
from authsite.users import agents
from authsite.users.cli.shared import named

from .. import inspection
from ..inspection import Inspected
from ..models import PersonalToken


@click.group()
def token() -> None:
    """One token: whose it is, and end it."""


def _only_dash(_ctx: click.Context, _argument: click.Parameter, given: str) -> str:
    if given != "-":
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


@token.command(epilog=examples("authsite token revoke -", "xclip -o | authsite token revoke -"))
@token_argument
@json_option
@config_option
def revoke(cfg: Settings, dash: str, as_json: bool) -> None:
    """End a token, and all others of the same login; a personal access token alone.

    It is read as in `token show`. A token that is dead already stays so: the status is 0, and the
    reason is printed.
    """
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
    others = "" if isinstance(found.row, PersonalToken) else ", and all others of the same login"
    click.echo(f"The {found.kind}{of} is revoked{others}.")


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
    row, user, client = found.row, found.user, found.client
    facts = {"user": f"{named(user)} ({user.id})" if user else "–"}
    personal = isinstance(row, PersonalToken)
    # A personal access token was issued to no client.
    facts["created with" if personal else "client"] = (
        f"{client.name} ({client.id})" if client else "–"
    )
    if row:
        facts["created" if personal else "login"] = (
            f"{clock.rfc3339(row.created_at)} from {row.address or '–'}"
        )
        facts["device"] = agents.in_words(row.agent)
        facts["scope"] = row.scope or "–"
    facts["expires"] = clock.rfc3339(found.expires_at)
    facts["active"] = "yes" if found.reason is None else f"no: {found.reason}"
    print_facts(found.kind.capitalize(), facts)


def _facts(found: Inspected) -> dict[str, Any]:
    personal = isinstance(found.row, PersonalToken)  # it was issued to no client
    return {
        "active": found.reason is None,
        "reason": found.reason,
        "user": str(found.user.id) if found.user else None,
        "client": str(found.client.id) if found.client and not personal else None,
        "expires_at": clock.rfc3339(found.expires_at),
    }
