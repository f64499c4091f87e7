"""``authsite client …``"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

import click
from sqlalchemy import select
from sqlalchemy.orm import Session

from authsite.oauth.clients import deletion, registration
from authsite.oauth.clients import service as clients
from authsite.oauth.clients import uris as client_uris
from authsite.oauth.clients.document_urls import is_url
from authsite.oauth.clients.fields import (
    ALGORITHMS,
    CLAIMS,
    CONSENT,
    NO_FIELDS,
    PKCE,
    ClientFields,
    facts_of,
    seconds_of,
)
from authsite.oauth.models import (
    CLIENT_TYPES,
    CODE_TYPES,
    DOCUMENT,
    REGISTRABLE_TYPES,
    Client,
)
from authsite.oauth.oidc.availability import is_on_with, why_off
from authsite.platform.audit.service import Cause
from authsite.platform.command_line.results import Data, Done, Facts, Listing, result_command
from authsite.platform.command_line.shared import (
    confirm,
    examples,
    limit_option,
    reason_option,
    transaction,
    yes_option,
)
from authsite.platform.context import Context
from authsite.platform.runtime.ids import as_client_id
from authsite.platform.settings import Settings

# The options of ``authsite client create`` and ``update`` for the fields of a client.


T = TypeVar("T")
_LISTS = ("redirect_uris", "post_logout_redirect_uris", "origins")
_SWITCHES = ("first_party", "require_confirmed")
SWITCH = click.Choice(["on", "off"])


def _lifetime(_ctx: click.Context, _option: click.Parameter, text: str | None) -> int | None:
    """Seconds: of a duration, or of a number; 0 for an empty text, which removes the value."""
    if text is None:
        return None
    try:
        return seconds_of(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


_OPTIONS = (
    click.option(
        "--redirect-uri",
        "redirect_uris",
        metavar="URI",
        multiple=True,
        help="Where the person returns after the sign-in; give it again for more.",
    ),
    click.option(
        "--post-logout-redirect-uri",
        "post_logout_redirect_uris",
        metavar="URI",
        multiple=True,
        help="Where the person returns after the logout; give it again for more.",
    ),
    click.option(
        "--origin",
        "origins",
        metavar="ORIGIN",
        multiple=True,
        help="browser: an origin whose pages may call the token endpoint (CORS).",
    ),
    click.option(
        "--first-party",
        type=SWITCH,
        help="Your own application: no consent is asked, and with the scope account its tokens "
        "open authsite's own API. Changing it ends the client's tokens.",
    ),
    click.option(
        "--consent",
        type=click.Choice(CONSENT),
        help="none: you answer for your users, such as for a tool that your company has bought. "
        "They are not asked for what it may have anyway; it stays a third party's.",
    ),
    click.option(
        "--pkce",
        type=click.Choice(PKCE),
        help="optional: for a server application that does not support PKCE (RFC 7636).",
    ),
    click.option(
        "--id-token-signed-response-alg",
        type=click.Choice(ALGORITHMS),
        help="What its ID tokens are signed with; RS256 by default.",
    ),
    click.option(
        "--id-token-lifetime",
        metavar="DURATION",
        callback=_lifetime,
        help="How long its ID tokens last, such as 10m; by default authsite.id-token-expires-in.",
    ),
    click.option(
        "--id-token-claims",
        type=click.Choice(CLAIMS),
        help="both: the ID token has the facts about the user, too, not only userinfo.",
    ),
    click.option(
        "--require-confirmed",
        type=SWITCH,
        help="Only users with a confirmed e-mail address; on by default.",
    ),
    click.option("--require-group", metavar="GROUP", help="Only members of this group."),
    click.option(
        "--default-resource",
        metavar="URI",
        help="The resource that its tokens are for if a request names none (RFC 8707).",
    ),
    click.option("--logo", metavar="FILE", help="A picture in authsite.static-folder."),
    click.option("--policy-uri", metavar="URL", help="Its privacy policy."),
    click.option("--tos-uri", metavar="URL", help="Its terms of service."),
)


def field_options(command: Callable[..., T]) -> Callable[..., T]:
    """Add the options; ``command`` gets them as ``fields``, a `ClientFields`."""

    @wraps(command)
    def with_fields(**given: Any) -> T:
        values = {name: given.pop(name) for name in ClientFields._fields}
        for name in _LISTS:
            values[name] = values[name] or None
        for name in _SWITCHES:
            values[name] = None if values[name] is None else values[name] == "on"
        return command(fields=ClientFields(**values), **given)

    with_options: Any = with_fields
    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return with_options  # type: ignore[no-any-return]


SAMPLE = "5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"  # an id in examples
BY_COMMAND = Cause("command")
_TYPE = click.Choice(list(CLIENT_TYPES))
ONCE = "The secret is shown this once and stored only as a hash: keep it now."
CLEARTEXT = (
    "People return over http to {uris}: whoever can read that network can read the codes there. "
    "Give the application TLS when you can"
)
_COMES_AGAIN = (
    "It comes again when a user signs in with it: `authsite client disable` refuses it for good."
)
COLUMNS = {name: name for name in ("client_id", "name", "type", "scope", "secrets", "enabled")}


@click.group()
def client() -> None:
    """OAuth clients and their secrets."""


@client.command(
    epilog=examples(
        "authsite client create --name 'Web shop' --type password",
        "authsite client create --name reports --type personal --scope 'reports:read'",
        "authsite client create --name api --type resource-server --json",
        "authsite client create --name Wiki --type server "
        "--redirect-uri https://wiki.example.org/callback",
    )
)
@click.option("--name", required=True, help="Display name.")
@click.option(
    "--type",
    "client_type",
    required=True,
    type=click.Choice(list(REGISTRABLE_TYPES)),
    help="password: a first-party application. personal: a program of a third party. "
    "resource-server: an API that introspects tokens. server, browser, native: an application that "
    "signs people in with a code, on its own server, in a page, or as a program.",
)
@click.option("--scope", default="", help="The scopes it may ask for, separated by spaces.")
@click.option("--default-scope", default="", help="The scopes it gets if it asks for none.")
@field_options
@result_command
def create(
    cfg: Settings,
    name: str,
    client_type: str,
    scope: str,
    default_scope: str,
    fields: ClientFields,
) -> Facts:
    """Register a client and show its secret.

    A client of type browser or native has none: it sends its id alone.
    """
    with transaction(cfg) as ctx, value_errors():
        client, secret = registration.register(
            ctx, name, client_type, scope, default_scope, fields, BY_COMMAND
        )
        ctx.db.flush()
        cleartext = _cleartext_note(ctx, client)
    facts = _credentials(client, secret)
    facts = replace(facts, note="\n".join(filter(None, (facts.note, cleartext))) or None)
    return _with_note(cfg, client, facts)


@client.command(
    "list",
    epilog=examples("authsite client list --type personal", "authsite client list --disabled"),
)
@click.option("--name", metavar="TEXT", default="", help="Only names with this text in them.")
@click.option("--type", "client_type", type=_TYPE, help="Only this type.")
@click.option("--disabled", is_flag=True, help="Only disabled clients.")
@limit_option
@result_command
def list_(cfg: Settings, name: str, client_type: str | None, disabled: bool, limit: int) -> Listing:
    """List the clients, the oldest first; never their secrets."""
    with transaction(cfg) as ctx:
        found, total = clients.search(
            ctx.db, limit, name=name, client_type=client_type, disabled=disabled
        )
        uris = client_uris.of(ctx.db, [item.id for item in found])
        rows = [facts_of(item, uris) for item in found]
    empty = "No clients yet. Make one with `authsite client create`."
    if name or client_type or disabled:
        empty = "No client matches."
    return Listing("clients", rows, total, COLUMNS | {"created": "created_at"}, empty)


@client.command(epilog=examples(f"authsite client show {SAMPLE}"))
@click.argument("client_id", metavar="ID")
@result_command
def show(cfg: Settings, client_id: str) -> Facts:
    """Show one client; never its secrets."""
    with transaction(cfg) as ctx:
        found = find_client(ctx.db, client_id)
        facts = _shown(ctx, found)
        return Facts("The client:", facts, note=_cleartext_note(ctx, found))


@client.command(
    epilog=examples(f"authsite client update {SAMPLE} --scope 'reports:read reports:write'")
)
@click.argument("client_id", metavar="ID")
@click.option("--name", help="Display name.")
@click.option("--scope", help="The scopes it may ask for, separated by spaces.")
@click.option("--default-scope", help="The scopes it gets if it asks for none.")
@field_options
@result_command
def update(
    cfg: Settings,
    client_id: str,
    name: str | None,
    scope: str | None,
    default_scope: str | None,
    fields: ClientFields,
) -> Done:
    """Change a client.

    Without an option its value stays as it is. An option that can be given more than once replaces
    the whole list, and an empty text removes a value. Tokens that were issued under a wider scope
    end at once.
    """
    if name is None and scope is None and default_scope is None and fields == NO_FIELDS:
        raise click.UsageError("nothing to change: give --name, --scope or another option")
    with transaction(cfg) as ctx, value_errors():
        found = find_client(ctx.db, client_id)
        registration.change(
            ctx,
            found,
            name=name,
            scope=scope,
            default_scope=default_scope,
            fields=fields,
            cause=BY_COMMAND,
        )
        facts, note = _shown(ctx, found), _cleartext_note(ctx, found)
        return Done("\n".join(filter(None, ("The client is changed.", note))), facts)


@client.command("rotate-secret", epilog=examples(f"authsite client rotate-secret {SAMPLE}"))
@click.argument("client_id", metavar="ID")
@result_command
def rotate_secret(cfg: Settings, client_id: str) -> Facts:
    """Give the client a new secret.

    The old one works until `retire-secret`, or until the next rotation, which ends the older of
    two secrets.
    """
    with transaction(cfg) as ctx:
        found = find_client(ctx.db, client_id)
        if found.previous_secret_hash:
            click.echo("The older of two secrets no longer works.", err=True)
        with value_errors():
            secret = clients.rotate_secret(ctx, found, BY_COMMAND)
    return _credentials(found, secret)


@client.command("retire-secret", epilog=examples(f"authsite client retire-secret {SAMPLE}"))
@click.argument("client_id", metavar="ID")
@result_command
def retire_secret(cfg: Settings, client_id: str) -> Done:
    """End the older of two secrets.

    Do so when no program uses it any more.
    """
    with transaction(cfg) as ctx:
        found = find_client(ctx.db, client_id)
        had_two = found.previous_secret_hash is not None
        if had_two:
            clients.retire_secret(ctx, found, BY_COMMAND)
        facts = _shown(ctx, found)
    text = (
        "The client has only one secret, which still works. Nothing is changed: "
        "`authsite client rotate-secret` gives it a second one."
    )
    if had_two:
        text = "The older secret no longer works."
    elif not found.secret_hash:
        text = f"A client of type {found.type} has no secret. Nothing is changed."
    return Done(text, facts)


@client.command(epilog=examples(f"authsite client disable {SAMPLE}"))
@click.argument("client_id", metavar="ID")
@result_command
def disable(cfg: Settings, client_id: str) -> Done:
    """Disable the client and revoke its tokens."""
    with transaction(cfg) as ctx:
        found = find_client(ctx.db, client_id)
        clients.disable(ctx, found.id, BY_COMMAND)
        ctx.db.refresh(found)
        return Done("The client is disabled and its tokens are revoked.", _shown(ctx, found))


@client.command(epilog=examples(f"authsite client enable {SAMPLE}"))
@click.argument("client_id", metavar="ID")
@result_command
def enable(cfg: Settings, client_id: str) -> Done:
    """Enable a disabled client.

    Tokens that were issued before stay revoked.
    """
    with transaction(cfg) as ctx:
        found = find_client(ctx.db, client_id)
        clients.enable(ctx, found, BY_COMMAND)
        return Done("The client is enabled.", _shown(ctx, found))


@client.command(epilog=examples(f"authsite client delete {SAMPLE}"))
@click.argument("client_id", metavar="ID")
@yes_option
@reason_option
@result_command
def delete(cfg: Settings, client_id: str, yes: bool, reason: str | None) -> Done:
    """Delete the client for good.

    Its tokens end at once, and what users have allowed it goes. `authsite client disable` refuses
    it and keeps it. Where settings or a resource name it, nothing is deleted.
    """
    with transaction(cfg) as ctx, value_errors():
        found = find_client(ctx.db, client_id)
        deletion.require_unused(ctx, found)
        goes = deletion.belongings(ctx, found.id)
        again = found.type == DOCUMENT
        question = (
            f"Delete {found.name} ({found.id})? With it go {goes.sign_ins} sign-ins, "
            f"{goes.consents} consents and {goes.personal_tokens} personal access tokens. "
            f"{_COMES_AGAIN if again else 'This cannot be undone.'}"
        )
    confirm(question, yes=yes)
    with transaction(cfg) as ctx, value_errors():
        found = find_client(ctx.db, client_id)
        facts = {"client_id": str(found.id), "name": found.name}
        gone = deletion.delete(ctx, found, BY_COMMAND._replace(reason=reason))
    text = (
        f"{facts['name']} is deleted, with {gone.sign_ins} sign-ins, {gone.consents} consents and "
        f"{gone.personal_tokens} personal access tokens."
    )
    return Done(text, {**facts, "deleted": True, **gone._asdict()})


@contextmanager
def value_errors() -> Iterator[None]:
    """Turn a value that a client cannot have into an error of the command."""
    try:
        yield
    except ValueError as error:
        raise click.ClickException(str(error)) from None


def _shown(ctx: Context, client: Client) -> Data:
    ctx.db.flush()
    return facts_of(client, client_uris.of(ctx.db, [client.id]))


def _cleartext_note(ctx: Context, client: Client) -> str | None:
    """What to know of redirect URIs without TLS, if the client has any."""
    unencrypted = client_uris.unencrypted(client_uris.of(ctx.db, [client.id]), client.id)
    return CLEARTEXT.format(uris=" ".join(unencrypted)) if unencrypted else None


def find_client(db: Session, client_id: str) -> Client:
    """A client by its id, or by the URL of its document."""
    if is_url(client_id):
        found = db.scalar(select(Client).where(Client.document_uri == client_id))
    else:
        uuid = as_client_id(client_id.lower())
        found = db.get(Client, uuid) if uuid else None
    if found is None:
        raise click.ClickException(
            f"no client has the id {client_id!r}; `authsite client list` shows them"
        )
    return found


def _with_note(cfg: Settings, client: Client, facts: Facts) -> Facts:
    """``facts``, and why the client of a type that uses codes cannot sign anyone in yet."""
    if client.type not in CODE_TYPES or is_on_with(cfg, standalone=True):
        return facts
    off = f"It cannot sign people in yet: {why_off(cfg)}."
    return replace(facts, note="\n".join(filter(None, (facts.note, off))))


def _credentials(client: Client, secret: str | None) -> Facts:
    facts = {"client_id": str(client.id), "name": client.name, "type": client.type}
    if secret is None:
        return Facts("The client, which has no secret:", facts)
    return Facts("The client's credentials:", {**facts, "client_secret": secret}, note=ONCE)
