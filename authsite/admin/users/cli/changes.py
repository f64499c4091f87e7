"""The commands that change a user."""

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import click

from authsite.platform.command_line.results import Done, result_command
from authsite.platform.command_line.shared import examples, reason_option, transaction
from authsite.platform.context import Context
from authsite.platform.settings import Settings
from authsite.users import service
from authsite.users.command_line import find, user_argument
from authsite.users.models import User

from .shared import (
    done,
    field_errors_as_lines,
    last_owner_as_line,
    password_option,
    read_password,
    require_kinds,
)

if TYPE_CHECKING:
    from authsite.admin.administrator import Administrator


Action: TypeAlias = Callable[[Context, "Administrator", User, str | None], User]


def _command(name: str, help_text: str, load: Callable[[], Action], text: str) -> click.Command:
    """The command ``name``, which does to one user what ``load`` returns, and prints ``text``."""

    @click.command(name, help=help_text, epilog=examples(f"authsite user {name} ann@example.com"))
    @user_argument
    @reason_option
    @result_command
    def command(cfg: Settings, email_or_id: str, reason: str | None) -> Done:
        from authsite.admin.administrator import COMMAND

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
    from authsite.admin.administrator import COMMAND
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
    from authsite.admin.administrator import COMMAND
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
    from authsite.admin.administrator import COMMAND
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
