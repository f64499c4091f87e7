"""``authsite user create``, ``list``, ``show``, ``export`` and ``delete``."""

import json
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import click

from authsite.platform.command_line.results import Done, Facts, Listing, result_command
from authsite.platform.command_line.shared import (
    config_option,
    examples,
    limit_option,
    print_json,
    reason_option,
    transaction,
    yes_option,
)
from authsite.platform.command_line.shared import (
    confirm as shared_confirm,
)
from authsite.platform.context import Context
from authsite.platform.settings import Settings
from authsite.users import former, identities, listing, service
from authsite.users.account import as_json as user_json
from authsite.users.groups.labels import groups_of
from authsite.users.listing import find, user_argument
from authsite.users.models import User

from .shared import (
    done,
    facts_of,
    field_errors_as_lines,
    last_owner_as_line,
    password_option,
    read_password,
    require_kinds,
)

if TYPE_CHECKING:
    from authsite.admin.guard import Administrator


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
    from authsite.admin.guard import COMMAND
    from authsite.groups import members
    from authsite.groups.cli import errors_as_lines
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
    from authsite.account.sessions import list_active

    with transaction(cfg) as ctx:
        found = find(ctx.db, email_or_id)
        change = former.find_pending(ctx.db, found.id)
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
    from authsite.admin.guard import COMMAND
    from authsite.admin.users import actions

    with transaction(cfg) as ctx:
        found = actions.export_data(ctx, COMMAND, find(ctx.db, email_or_id))
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
    shared_confirm(
        f"Erase {found.email} ({found.id}) and all data? This cannot be undone.", yes=yes
    )
    from authsite.admin.guard import COMMAND
    from authsite.admin.users import actions

    with transaction(cfg) as ctx, last_owner_as_line(), field_errors_as_lines():
        user = find(ctx.db, str(found.id))
        actions.delete(ctx, COMMAND, user, reason, None, now=True)
    data = {"id": str(found.id), "email": found.email, "deleted": True}
    return Done(f"{found.email} is erased.", data)


# The commands that change a user.


Action: TypeAlias = Callable[[Context, "Administrator", User, str | None], User]


def _command(name: str, help_text: str, load: Callable[[], Action], text: str) -> click.Command:
    """The command ``name``, which does to one user what ``load`` returns, and prints ``text``."""

    @click.command(name, help=help_text, epilog=examples(f"authsite user {name} ann@example.com"))
    @user_argument
    @reason_option
    @result_command
    def command(cfg: Settings, email_or_id: str, reason: str | None) -> Done:
        from authsite.admin.guard import COMMAND

        action = load()
        with transaction(cfg) as ctx, last_owner_as_line(), field_errors_as_lines():
            found = action(ctx, COMMAND, find(ctx.db, email_or_id), reason)
            ctx.db.refresh(found)
        return done(found, text)

    return command


def _actions() -> ModuleType:
    from authsite.admin.users import actions

    return actions


disable = _command(
    "disable",
    "End all sign-ins and allow no new ones.",
    lambda: _actions().disable,
    "The user is disabled; tokens and sessions are ended.",
)
enable = _command(
    "enable",
    "Let a disabled user log in again.",
    lambda: _actions().enable,
    "The user may log in again.",
)
confirm = _command(
    "confirm",
    "Mark the e-mail address as confirmed.",
    lambda: _actions().confirm,
    "The user's e-mail address is confirmed.",
)
sign_out = _command(
    "sign-out",
    "End all tokens and sessions.",
    lambda: _actions().sign_out,
    "All tokens and sessions of the user are ended.",
)


@click.command(
    epilog=examples(
        "authsite user update ann@example.com --name 'Ann Lee'",
        "authsite user update ann@example.com --phone ''",
    )
)
@user_argument
@click.option("--name", help="The name of the person.")
@click.option("--username", help="A login name, if login-identifiers has `username`.")
@click.option("--phone", help="The same for a phone number.")
@reason_option
@result_command
def update(
    cfg: Settings,
    email_or_id: str,
    name: str | None,
    username: str | None,
    phone: str | None,
    reason: str | None,
) -> Done:
    """Change name, username and phone number.

    Without an option its value stays as it is; an empty text removes the value.
    """
    from authsite.admin.guard import COMMAND
    from authsite.admin.users import actions

    given = {
        kind: text for kind, text in (("username", username), ("phone", phone)) if text is not None
    }
    if name is None and not given:
        raise click.UsageError("nothing to change: give --name, --username or --phone")
    require_kinds(cfg, given)
    with transaction(cfg) as ctx, field_errors_as_lines():
        user = find(ctx.db, email_or_id)
        found = actions.change_profile(ctx, COMMAND, user, reason, name=name, **given)
    return done(found, "The user is changed.")


@click.command(
    "set-email",
    epilog=examples(
        "authsite user set-email ann@example.com a@lee.name",
        "authsite user set-email ann@example.com a@lee.name --confirmed",
    ),
)
@user_argument
@click.argument("email", metavar="NEW_EMAIL")
@click.option(
    "--confirmed", is_flag=True, help="Change it at once, because you know that it is the user's."
)
@reason_option
@result_command
def set_email(
    cfg: Settings, email_or_id: str, email: str, confirmed: bool, reason: str | None
) -> Done:
    """Change the e-mail address, once the new one is confirmed.

    A link is mailed to the new address, and a notice to the present one, if that is confirmed. When
    the link is used, the address changes, and all tokens, sessions and reset links end.

    With --confirmed this happens at once, no link is mailed, and the links that take earlier
    changes back end as well. Take it when an intruder is signed in.
    """
    from authsite.admin.guard import COMMAND
    from authsite.admin.users import actions

    text = f"The address changes when the link is opened that was mailed to {email}."
    with transaction(cfg) as ctx, field_errors_as_lines():
        found = find(ctx.db, email_or_id)
        if confirmed:
            text = "The e-mail address is changed; tokens and sessions are ended."
        elif found.disabled_at:
            raise click.ClickException(
                "the user is disabled, so no link would work: run `authsite user enable` first, "
                "or give --confirmed"
            )
        found = actions.change_email(ctx, COMMAND, found, email, reason, confirmed=confirmed)
        ctx.db.refresh(found)
    return done(found, text)


@click.command(
    "set-password",
    epilog=examples(
        "authsite user set-password ann@example.com",
        "echo 'another lamp 42' | authsite user set-password ann@example.com --password-stdin",
    ),
)
@user_argument
@password_option
@result_command
def set_password(cfg: Settings, email_or_id: str, password_stdin: bool) -> Done:
    """Set a new password and end all sign-ins.

    Second factors that the user has had for a week or longer stay, and are asked for as before; so
    do those of an administrator. To remove them, run `authsite user reset-factors`.
    """
    from authsite.admin.guard import COMMAND
    from authsite.platform.passwords import policy

    password = read_password(password_stdin)
    with transaction(cfg) as ctx, field_errors_as_lines():
        found = find(ctx.db, email_or_id)
        policy.require_strong(cfg, ctx.passwords, password, found)
        service.set_password(ctx, found.id, ctx.passwords.hash(password), COMMAND.cause())
        ctx.db.refresh(found)
    text = "The password is set; tokens and sessions are ended."
    if found.factors_since:
        text += " The second factors stay: `authsite user factors` shows them."
    return done(found, text)
