"""``authsite admin grant``, ``revoke`` and ``list``."""

import click

from authsite.groups import administrators
from authsite.oauth.administering import administering_clients
from authsite.platform.command_line.results import Done, Listing, result_command
from authsite.platform.command_line.shared import examples, reason_option, transaction
from authsite.platform.settings import Settings
from authsite.users.command_line import find, user_argument
from authsite.users.groups.reserved import OWNER, PREFIX

from .shared import by_command, errors_as_lines

role_argument = click.argument("role", metavar="GROUP")
COLUMNS = {"e-mail": "email", "groups": "groups"}
OWNER_NAMES = (OWNER, OWNER.removeprefix(PREFIX))
KNOWN_SECRET = (
    "the client {id} ({name}) may administer, and the user may know its secret: run `authsite "
    "client rotate-secret {id}` and `authsite client retire-secret {id}`, or `authsite client "
    "disable {id}`"
)
NO_MAIL = (
    "no mail has been sent from here in the last seven days, as far as is known: an administrator "
    "needs one to sign in for the first time. Try it with `authsite mail send`; where none can be "
    "sent, `authsite user mail-code EMAIL` prints the code of a sign-in that waits for it."
)


@click.group()
def admin() -> None:
    """Who administers this installation."""


@admin.command(
    epilog=examples(
        "authsite admin grant ann@example.com owner",
        "authsite admin grant bo@example.com authsite:support --reason 'on call'",
    )
)
@user_argument
@role_argument
@reason_option
@result_command
def grant(cfg: Settings, email_or_id: str, role: str, reason: str | None) -> Done:
    """Make a user an administrator.

    GROUP is owner, security, support or viewer, or its full name: authsite:owner. The user must
    have a confirmed e-mail address. All owners are told by mail.
    """
    with transaction(cfg) as ctx, errors_as_lines():
        user = find(ctx.db, email_or_id)
        new = administrators.grant(ctx, user, role, by_command(reason))
        unsent = administrators.no_mail_was_sent(ctx.db)
    if unsent:
        click.echo(NO_MAIL, err=True)
    text = f"{user.email} is {'now' if new else 'already'} an administrator: {role}."
    return Done(text, {"email": user.email, "group": role, "changed": new})


@admin.command(epilog=examples("authsite admin revoke bo@example.com support"))
@user_argument
@role_argument
@reason_option
@result_command
def revoke(cfg: Settings, email_or_id: str, role: str, reason: str | None) -> Done:
    """Take a role of administrator away.

    GROUP is as in `admin grant`. The last enabled owner stays. All owners are told by mail. Clients
    that may administer stay: the command names them, since an owner may know their secrets.
    """
    with transaction(cfg) as ctx, errors_as_lines():
        user = find(ctx.db, email_or_id)
        left = administrators.revoke(ctx, user, role, by_command(reason))
        known = administering_clients(ctx.db) if left and role in OWNER_NAMES else ()
    for each in known:
        click.echo(KNOWN_SECRET.format(id=each.id, name=each.name), err=True)
    text = f"{user.email} is {'no longer' if left else 'not'} an administrator: {role}."
    return Done(text, {"email": user.email, "group": role, "changed": left})


@admin.command("list", epilog=examples("authsite admin list --json"))
@result_command
def list_(cfg: Settings) -> Listing:
    """List the administrators, with their groups."""
    with transaction(cfg) as ctx:
        found = administrators.list_all(ctx.db)
    rows = [each._asdict() for each in found]
    empty = "No administrators yet. Make one with `authsite admin grant EMAIL owner`."
    return Listing("administrators", rows, len(rows), COLUMNS, empty)
