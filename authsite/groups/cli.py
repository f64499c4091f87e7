"""``authsite group …`` and ``authsite admin …``"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

import click

from authsite.groups import administrators, applying, members, service
from authsite.groups.errors import NotConfirmed
from authsite.groups.members import Member
from authsite.groups.service import GroupValues, ShownGroup
from authsite.oauth.clients.fields import administering_clients
from authsite.platform.audit.service import Cause
from authsite.platform.command_line.results import Data, Done, Facts, Listing, result_command
from authsite.platform.command_line.shared import (
    examples,
    limit_option,
    reason_option,
    session,
    transaction,
)
from authsite.platform.context import Context
from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import translate
from authsite.platform.settings import Settings
from authsite.users.errors import LastOwner
from authsite.users.groups.labels import OWNER, PREFIX, GroupChange
from authsite.users.listing import find, user_argument

# What the commands for groups and administrators share.


# For the operator, where a command is what to do next.
_WORDS: dict[type[ApiError], str] = {
    LastOwner: "the user is the last enabled owner: make another user an owner first, with "
    "`authsite admin grant EMAIL owner`",
    NotConfirmed: "the user has not confirmed the e-mail address, so it may be another person's: "
    "if you know that it is the user's, run `authsite user confirm EMAIL` first",
}


def by_command(reason: str | None) -> Cause:
    """The cause of what a command does."""
    return Cause("command", reason=reason)


@contextmanager
def errors_as_lines() -> Iterator[None]:
    """Turn an error of the services into an error message of the command."""
    try:
        yield
    except ApiError as error:
        raise click.ClickException(_WORDS.get(type(error)) or translate(str(error))) from None


# ``authsite admin grant``, ``revoke`` and ``list``.


role_argument = click.argument("role", metavar="GROUP")
ADMINISTRATOR_COLUMNS = {"e-mail": "email", "groups": "groups"}
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
def list_administrators(cfg: Settings) -> Listing:
    """List the administrators, with their groups."""
    with transaction(cfg) as ctx:
        found = administrators.list_all(ctx.db)
    rows = [each._asdict() for each in found]
    empty = "No administrators yet. Make one with `authsite admin grant EMAIL owner`."
    return Listing("administrators", rows, len(rows), ADMINISTRATOR_COLUMNS, empty)


# ``authsite group …``


name_argument = click.argument("name", metavar="NAME")
scope_help = "The scopes that it binds, separated by spaces: only such as the setting scopes marks."
acr_option = click.option(
    "--require-acr",
    metavar="LEVEL",
    help="The level that a sign-in of a member must have: aal1, aal2 or phr. With less the user is "
    "not in the group, and its scopes are left out.",
)
COLUMNS = {
    "name": "name",
    "title": "title",
    "level": "require_acr",
    "members": "member_count",
    "scopes": "scopes",
}
APPLYING = (
    "the change is stored, and is being applied to {number:,} members, in minutes for each million:"
    " wait. If this command is stopped, the service goes on; if none runs, run it again"
)
UNCONFIRMED = (
    "the user has not confirmed the e-mail address, so it may be another person's: check that it "
    "is the right account"
)


@dataclass(frozen=True, slots=True)
class GroupWithMembers:
    """A group, and some of its members."""

    group: ShownGroup
    members: Sequence[Member]

    @property
    def data(self) -> Data:
        """The group, with a list of members."""
        return {**self.group._asdict(), "members": self._rows()}

    def show(self) -> None:
        """Print the facts of the group, and a table of the members."""
        group = self.group
        facts = {
            "name": group.name,
            "title": group.title,
            "level": group.require_acr,
            "scopes": group.scopes,
            "members": group.member_count,
            "not_changed_yet": group.pending_count or None,
            "created_at": group.created_at,
        }
        Facts("The group:", facts).show()
        columns = {"id": "id", "e-mail": "email"}
        total = group.member_count
        Listing("members", self._rows(), total, columns, empty="No members yet.").show()

    def _rows(self) -> list[Data]:
        return [{"id": str(each.id), "email": each.email} for each in self.members]


@click.group()
def group() -> None:
    """Groups of users, and the scopes that they give."""


@group.command(
    epilog=examples(
        "authsite group create ops --title Operations",
        "authsite group create finance --title Finance --scope payments:write",
    )
)
@name_argument
@click.option("--title", required=True, help="The name for people.")
@click.option("--scope", default="", help=scope_help)
@acr_option
@reason_option
@result_command
def create(
    cfg: Settings,
    name: str,
    title: str,
    scope: str,
    require_acr: str | None,
    reason: str | None,
) -> Done:
    """Create a group.

    NAME has 1 to 32 of the characters a-z, 0-9, colon, _ and -.
    """
    with transaction(cfg) as ctx, errors_as_lines():
        given = GroupValues(title, scope, require_acr)
        service.create(ctx, name, given, by_command(reason))
        made = service.show(ctx.db, name, cfg.admin_acr)
    return Done(f"The group {name} is created.", made._asdict())


@group.command(
    epilog=examples(
        "authsite group update finance --scope payments:write",
        "authsite group update finance --require-acr aal2",
    )
)
@name_argument
@click.option("--title", help="The name for people.")
@click.option("--scope", help=scope_help)
@acr_option
@reason_option
@result_command
def update(
    cfg: Settings,
    name: str,
    title: str | None,
    scope: str | None,
    require_acr: str | None,
    reason: str | None,
) -> Done:
    """Change title, scopes and level of a group.

    Without an option its value stays as it is; an empty text for --scope removes all, and for
    --require-acr the level. The tokens of members end that carry a scope which no group gives them
    any more, or not at the level of their sign-in. This takes minutes for a million members. If the
    command is stopped, the service goes on with it, or the same command that is run again.
    """
    given = GroupValues(title, scope, require_acr)
    if given == GroupValues():
        raise click.UsageError("nothing to change: give --title, --scope or --require-acr")
    with session(cfg) as ctx, errors_as_lines():
        with ctx.db.begin():
            begun = service.change(ctx, name, given, by_command(reason))
        _apply(ctx, begun)
        with ctx.db.begin():
            changed = service.show(ctx.db, name, cfg.admin_acr)
    return Done(f"The group {name} is changed.", changed._asdict())


@group.command(epilog=examples("authsite group delete finance"))
@name_argument
@reason_option
@result_command
def delete(cfg: Settings, name: str, reason: str | None) -> Done:
    """Delete a group.

    Its members leave it, which ends their tokens that carry a scope of this group alone, and takes
    minutes for a million members. If the command is stopped, the service goes on with it, or the
    same command that is run again.
    """
    cause = by_command(reason)
    with session(cfg) as ctx, errors_as_lines():
        with ctx.db.begin():
            begun = service.delete(ctx, name, cause)
        _apply(ctx, begun)
    return Done(f"The group {name} is deleted.", {"name": name, "deleted": True})


@group.command("list", epilog=examples("authsite group list --json"))
@result_command
def list_(cfg: Settings) -> Listing:
    """List all groups, the reserved ones first."""
    with transaction(cfg) as ctx:
        found = service.list_all(ctx.db, cfg.admin_acr)
    rows = [each._asdict() for each in found]
    return Listing("groups", rows, len(rows), COLUMNS, empty="")  # never without the reserved ones


@group.command(epilog=examples("authsite group show finance"))
@name_argument
@limit_option
@result_command
def show(cfg: Settings, name: str, limit: int) -> GroupWithMembers:
    """Show one group with its members."""
    with transaction(cfg) as ctx, errors_as_lines():
        found = service.show(ctx.db, name, cfg.admin_acr)
        listed = members.list_some(ctx.db, name, limit)
    return GroupWithMembers(found, listed)


@group.command(epilog=examples("authsite group add finance ann@example.com"))
@name_argument
@user_argument
@reason_option
@result_command
def add(cfg: Settings, name: str, email_or_id: str, reason: str | None) -> Done:
    """Add a user to a group.

    A scope that this gives counts from the next login or refresh. Administrators are made with
    `authsite admin grant`.
    """
    return _change_membership(cfg, members.add, (name, email_or_id, reason))


@group.command(epilog=examples("authsite group remove finance ann@example.com"))
@name_argument
@user_argument
@reason_option
@result_command
def remove(cfg: Settings, name: str, email_or_id: str, reason: str | None) -> Done:
    """Remove a user from a group.

    The tokens of the user that carry a scope of this group alone end.
    """
    return _change_membership(cfg, members.remove, (name, email_or_id, reason))


def _apply(ctx: Context, change_id: UUID | None) -> None:
    """Apply a change to all members, and say before how many they are, if they are many."""
    if change_id is None:
        return
    with ctx.db.begin():
        change = ctx.db.get(GroupChange, change_id)
        number = change.member_count if change else 0
    if number > applying.LARGE:
        click.echo(APPLYING.format(number=number), err=True)
    more = True
    while more:
        with ctx.db.begin():
            more = applying.step(ctx, change_id)


def _change_membership(
    cfg: Settings,
    change: Callable[..., bool],
    given: tuple[str, str, str | None],
) -> Done:
    name, email_or_id, reason = given
    with transaction(cfg) as ctx, errors_as_lines():
        user = find(ctx.db, email_or_id)
        changed = change(ctx, name, user.id, by_command(reason))
    added = change is members.add
    if added and user.email_verified_at is None:
        click.echo(UNCONFIRMED, err=True)
    now = "is in" if added else "is not in"
    text = f"{user.email} {now} the group {name}{'' if changed else ', as before'}."
    return Done(text, {"group": name, "email": user.email, "changed": changed})


__all__ = ["admin", "group"]
