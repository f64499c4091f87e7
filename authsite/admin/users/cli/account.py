"""``authsite user create``, ``list``, ``show``, ``export`` and ``delete``."""

import json
from collections.abc import Sequence

import click

from authsite.platform.command_line.results import Done, Facts, Listing, result_command
from authsite.platform.command_line.shared import (
    config_option,
    confirm,
    examples,
    limit_option,
    print_json,
    reason_option,
    transaction,
    yes_option,
)
from authsite.platform.settings import Settings
from authsite.users import listing, pending, service
from authsite.users.account import as_json as user_json
from authsite.users.command_line import find, user_argument
from authsite.users.groups.groups_of_user import groups_of
from authsite.users.identities import service as identities

from .shared import (
    facts_of,
    field_errors_as_lines,
    last_owner_as_line,
    password_option,
    read_password,
    require_kinds,
)

LISTED = {name: name for name in ("id", "email", "username", "phone", "confirmed", "enabled")}


@click.command(
    epilog=examples(
        "authsite user create --email ann@example.com",
        "authsite user create --email ann@example.com --confirmed --username ann --group staff",
        "echo 'purple wolf 77 tea' | authsite user create --email ann@example.com --password-stdin",
    )
)
@click.option("--email", required=True, help="The e-mail address, which is also a login name.")
@click.option("--name", help="The name of the person.")
@click.option("--username", help="A login name, if login-identifiers has `username`.")
@click.option(
    "--group",
    "groups",
    metavar="NAME",
    multiple=True,
    help="A group to add the user to, such as for an application with --require-group; give it "
    "again for more. Administrators are made with `authsite admin grant`.",
)
@click.option("--confirmed", is_flag=True, help="Mark the e-mail address as confirmed.")
@password_option
@result_command
def create(
    cfg: Settings,
    email: str,
    name: str | None,
    username: str | None,
    groups: Sequence[str],
    confirmed: bool,
    password_stdin: bool,
) -> Facts:
    """Create a user, by the same rules as registration."""
    from authsite.admin.administrator import COMMAND
    from authsite.groups import members
    from authsite.groups.cli.shared import errors_as_lines
    from authsite.signup.service import register

    if username:
        require_kinds(cfg, ["username"])
    cause = COMMAND.cause()
    password = read_password(password_stdin)
    with transaction(cfg) as ctx, errors_as_lines(), field_errors_as_lines():
        made = register(ctx, {"email": email, "username": username}, password, name, cause)
        if confirmed:
            service.confirm(ctx, made, cause)
        for group in groups:
            members.add(ctx, group, made.id, cause)
    shown = {"id": made.id, "email": made.email}
    return Facts("The user:", user_json(made, cfg.login_identifiers), shown)


@click.command(
    "list",
    epilog=examples(
        "authsite user list --email @example.com --limit 20",
        "authsite user list --disabled --json",
    ),
)
@click.option("--email", metavar="TEXT", default="", help="Only addresses with this text in them.")
@click.option("--disabled", is_flag=True, help="Only disabled users.")
@click.option("--unconfirmed", is_flag=True, help="Only users with an unconfirmed e-mail address.")
@limit_option
@result_command
def list_(cfg: Settings, email: str, disabled: bool, unconfirmed: bool, limit: int) -> Listing:
    """List the users, the oldest first."""
    with transaction(cfg) as ctx:
        found = listing.search(
            ctx.db, limit, email=email, disabled=disabled, unconfirmed=unconfirmed
        )
        rows = [facts_of(item) for item in found.users]
    empty = "No users yet. Make one with `authsite user create --email …`."
    if email or disabled or unconfirmed:
        empty = "No user matches."
    return Listing("users", rows, found.total, LISTED | {"created": "created_at"}, empty)


@click.command(epilog=examples("authsite user show ann@example.com"))
@user_argument
@result_command
def show(cfg: Settings, email_or_id: str) -> Facts:
    """Show one user, and how they can sign in."""
    from authsite.account.active_sessions import list_active

    with transaction(cfg) as ctx:
        found = find(ctx.db, email_or_id)
        change = pending.find(ctx.db, found.id)
        sessions, _more = list_active(ctx, found.id, None)
        facts = {
            **facts_of(found),
            "origin": found.origin,
            "has_password": found.password_hash is not None,
            "identities": [
                f"{each.provider}: {each.email or each.subject}"
                for each in identities.list_of(ctx, found.id)
            ],
            "groups": groups_of(ctx.db, found.id),
            "pending_email": change.email if change else None,
            "active_sessions": len(sessions),
        }
    return Facts("The user:", facts)


@click.command(epilog=examples("authsite user limits ann@example.com"))
@user_argument
@result_command
def limits(cfg: Settings, email_or_id: str) -> Listing:
    """List the limits that count for a user.

    Each has the number of attempts, and the seconds until it ends.
    """
    from authsite.admin.users import detail

    with transaction(cfg) as ctx:
        rows = detail.limits(ctx, find(ctx.db, email_or_id).id)
    columns = {name: name for name in ("limit", "count", "seconds")}
    return Listing("limits", rows, len(rows), columns, "No limit counts for this user.")


@click.command(epilog=examples("authsite user export ann@example.com > ann.json"))
@user_argument
@click.option("--json", "as_json", is_flag=True, help="Print the JSON object on one line.")
@config_option
def export(cfg: Settings, email_or_id: str, as_json: bool) -> None:
    """Print all that is stored about a user.

    It is one JSON object (GDPR, articles 15 and 20): user, login names, former addresses, sign-ins,
    personal access tokens, mails, audit events and rate limits; never a hash, a key or a secret.
    """
    from authsite.admin.administrator import COMMAND
    from authsite.admin.users import access

    with transaction(cfg) as ctx:
        found = access.export_data(ctx, COMMAND, find(ctx.db, email_or_id))
    if as_json:
        return print_json(found)
    click.echo(json.dumps(found, indent=2))


@click.command(epilog=examples("authsite user delete ann@example.com"))
@user_argument
@yes_option
@reason_option
@result_command
def delete(cfg: Settings, email_or_id: str, yes: bool, reason: str | None) -> Done:
    """Erase a user and all stored data.

    Tokens and sessions end at once, and the address is free again. The audit trail keeps the id.
    """
    with transaction(cfg) as ctx:
        found = find(ctx.db, email_or_id)
    confirm(f"Erase {found.email} ({found.id}) and all data? This cannot be undone.", yes=yes)
    from authsite.admin.administrator import COMMAND
    from authsite.admin.users import deletion

    with transaction(cfg) as ctx, last_owner_as_line(), field_errors_as_lines():
        user = find(ctx.db, str(found.id))
        deletion.delete(ctx, COMMAND, user, reason, None, now=True)
    data = {"id": str(found.id), "email": found.email, "deleted": True}
    return Done(f"{found.email} is erased.", data)
