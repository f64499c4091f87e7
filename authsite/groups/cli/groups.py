"""``authsite group …``"""

from collections.abc import Callable

import click

from authsite.cli.shared import (
    config_option,
    examples,
    json_option,
    limit_option,
    print_facts,
    print_json,
    print_more,
    print_table,
    session,
    transaction,
)
from authsite.settings import Settings
from authsite.users.cli.shared import find, user_argument

from .. import members, service
from ..service import GroupValues, ShownGroup
from .shared import by_command, errors_as_lines, reason_option

name_argument = click.argument("name", metavar="NAME")
scope_help = "The scopes that it binds, separated by spaces: only such as the setting scopes marks."
acr_option = click.option(
    "--require-acr",
    metavar="LEVEL",
    help="The level that a sign-in must have. This version has no levels, and refuses it.",
)
UNCONFIRMED = (
    "the user has not confirmed the e-mail address, so it may be another person's: check that it "
    "is the right account"
)


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
@json_option
@config_option
def create(
    cfg: Settings,
    name: str,
    title: str,
    scope: str,
    require_acr: str | None,
    reason: str | None,
    as_json: bool,
) -> None:
    """Create a group.

    NAME has 1 to 32 of the characters a-z, 0-9, colon, _ and -.
    """
    with transaction(cfg) as ctx, errors_as_lines():
        given = GroupValues(title, scope, require_acr)
        service.create(ctx, name, given, by_command(reason))
        made = service.show(ctx.db, name)
    _print_done(made, f"The group {name} is created.", as_json)


@group.command(epilog=examples("authsite group update finance --scope 'payments:write'"))
@name_argument
@click.option("--title", help="The name for people.")
@click.option("--scope", help=scope_help)
@acr_option
@reason_option
@json_option
@config_option
def update(
    cfg: Settings,
    name: str,
    title: str | None,
    scope: str | None,
    require_acr: str | None,
    reason: str | None,
    as_json: bool,
) -> None:
    """Change title and scopes of a group.

    What is not given stays as it is; an empty text for --scope removes all. The tokens of members
    that carry a scope which no group gives them any more end.
    """
    given = GroupValues(title, scope, require_acr)
    if given == GroupValues():
        raise click.UsageError("nothing to change: give --title or --scope")
    with session(cfg) as ctx, errors_as_lines():
        with ctx.db.begin():
            lost = service.change(ctx, name, given, by_command(reason))
        after = None
        while lost:
            with ctx.db.begin():
                after = service.end_lost_tokens(ctx, name, lost, after)
            if after is None:
                break
        with ctx.db.begin():
            changed = service.show(ctx.db, name)
    _print_done(changed, f"The group {name} is changed.", as_json)


@group.command(epilog=examples("authsite group delete finance"))
@name_argument
@reason_option
@json_option
@config_option
def delete(cfg: Settings, name: str, reason: str | None, as_json: bool) -> None:
    """Delete a group.

    Its members leave it first, which ends their tokens that carry a scope of this group alone. A
    command that was stopped can be run again.
    """
    cause = by_command(reason)
    with session(cfg) as ctx, errors_as_lines():
        more = True
        while more:
            with ctx.db.begin():
                more = service.remove_some(ctx, name, cause)
        with ctx.db.begin():
            service.delete(ctx, name, cause)
    if as_json:
        return print_json({"name": name, "deleted": True})
    click.echo(f"The group {name} is deleted.")


@group.command("list", epilog=examples("authsite group list --json"))
@json_option
@config_option
def list_(cfg: Settings, as_json: bool) -> None:
    """List all groups, the reserved ones first."""
    with transaction(cfg) as ctx:
        found = service.list_all(ctx.db)
    if as_json:
        return print_json({"groups": [each._asdict() for each in found]})
    print_table(
        ("name", "title", "members", "scopes"),
        [
            (each.name, each.title, str(each.member_count), " ".join(each.scopes) or "–")
            for each in found
        ],
        empty="",  # there are always the reserved ones
    )


@group.command(epilog=examples("authsite group show finance"))
@name_argument
@limit_option
@json_option
@config_option
def show(cfg: Settings, name: str, limit: int, as_json: bool) -> None:
    """Show one group with its members."""
    with transaction(cfg) as ctx, errors_as_lines():
        found = service.show(ctx.db, name)
        listed = members.list_some(ctx.db, name, limit)
    if as_json:
        in_it = [{"id": str(each.id), "email": each.email} for each in listed]
        return print_json({**found._asdict(), "members": in_it})
    print_facts("The group:", _facts(found))
    print_table(
        ("id", "e-mail"), [(str(each.id), each.email) for each in listed], empty="No members yet."
    )
    print_more(found.member_count - len(listed))


@group.command(epilog=examples("authsite group add finance ann@example.com"))
@name_argument
@user_argument
@reason_option
@json_option
@config_option
def add(cfg: Settings, name: str, email_or_id: str, reason: str | None, as_json: bool) -> None:
    """Add a user to a group.

    A scope that this gives counts from the next login or refresh. Administrators are made with
    `authsite admin grant`.
    """
    _change_membership(cfg, members.add, (name, email_or_id, reason), as_json=as_json)


@group.command(epilog=examples("authsite group remove finance ann@example.com"))
@name_argument
@user_argument
@reason_option
@json_option
@config_option
def remove(cfg: Settings, name: str, email_or_id: str, reason: str | None, as_json: bool) -> None:
    """Remove a user from a group.

    The tokens of the user that carry a scope of this group alone end.
    """
    _change_membership(cfg, members.remove, (name, email_or_id, reason), as_json=as_json)


def _change_membership(
    cfg: Settings,
    change: Callable[..., bool],
    given: tuple[str, str, str | None],
    *,
    as_json: bool,
) -> None:
    name, email_or_id, reason = given
    with transaction(cfg) as ctx, errors_as_lines():
        user = find(ctx.db, email_or_id)
        changed = change(ctx, name, user.id, by_command(reason))
    added = change is members.add
    if added and user.email_verified_at is None:
        click.echo(UNCONFIRMED, err=True)
    if as_json:
        return print_json({"group": name, "email": user.email, "changed": changed})
    now = "is in" if added else "is not in"
    click.echo(f"{user.email} {now} the group {name}{'' if changed else ', as before'}.")


def _print_done(found: ShownGroup, text: str, as_json: bool) -> None:
    """Print ``text``, or the group as JSON."""
    if as_json:
        return print_json(found._asdict())
    click.echo(text)


def _facts(found: ShownGroup) -> dict[str, str]:
    return {
        "name": found.name,
        "title": found.title,
        "scopes": " ".join(found.scopes) or "–",
        "members": str(found.member_count),
        "created_at": found.created_at or "–",
    }
