"""``authsite token …``"""

import sys

import click

from authsite.oauth import inspection, scope_loss
from authsite.oauth.inspection import Inspected
from authsite.oauth.models import PersonalToken
from authsite.platform.command_line.results import Data, Done, Facts, result_command
from authsite.platform.command_line.shared import examples, session, transaction
from authsite.platform.context import Context
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings
from authsite.users import agents
from authsite.users.command_line import named


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
        inspection.revoke(ctx, before)
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
    found = inspection.inspect(ctx, text)
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
        shown["device"] = agents.in_words(row.agent)
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
