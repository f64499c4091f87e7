"""``authsite user …``"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from sqlalchemy.orm import Session

from authsite.cli.shared import (
    config_option,
    json_option,
    print_facts,
    print_json,
    print_table,
    transaction,
)
from authsite.context import Context
from authsite.http.errors import ValidationFailed
from authsite.i18n import translate
from authsite.settings import Settings

from . import service
from .account import as_json as user_json
from .models import User

password_option = click.option(
    "--password-stdin", is_flag=True, help="Read the password from the first line of input."
)


@click.group()
def user() -> None:
    """Users."""


@user.command()
@click.option("--email", required=True)
@click.option("--name")
@click.option("--confirmed", is_flag=True, help="Take the e-mail address as proved.")
@password_option
@json_option
@config_option
def create(
    cfg: Settings,
    email: str,
    name: str | None,
    confirmed: bool,
    password_stdin: bool,
    as_json: bool,
) -> None:
    """Create a user, by the same rules as registration."""
    from authsite.signup.service import register

    password = _password(password_stdin)
    with transaction(cfg) as ctx, _field_errors_as_lines():
        made = register(ctx, {"email": email}, password, name)
        if confirmed:
            service.confirm(ctx, made)
    if as_json:
        return print_json(user_json(made))
    print_facts("The user:", {"id": str(made.id), "email": made.email})


@user.command("list")
@json_option
@config_option
def list_(cfg: Settings, as_json: bool) -> None:
    """List the users."""
    with transaction(cfg) as ctx:
        rows: list[dict[str, Any]] = [
            {**user_json(item), "enabled": item.disabled_at is None}
            for item in service.list_all(ctx.db)
        ]
    if as_json:
        return print_json({"users": rows})
    print_table(
        ("id", "email", "username", "phone", "confirmed", "enabled", "created"),
        [_cells(row) for row in rows],
        empty="No users yet. Make one with `authsite user create --email …`.",
    )


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        row["id"],
        row["email"],
        row["username"] or "–",
        row["phone"] or "–",
        "yes" if row["confirmed"] else "no",
        "yes" if row["enabled"] else "no",
        row["created_at"],
    ]


def _add_command(
    name: str, help_text: str, change: Callable[[Context, User], None], done: str
) -> None:
    """Add the command ``name``, which applies ``change`` to one user and prints ``done``."""

    @user.command(name, help=help_text)
    @click.argument("email_or_id", metavar="EMAIL_OR_ID")
    @config_option
    def command(cfg: Settings, email_or_id: str) -> None:
        with transaction(cfg) as ctx:
            change(ctx, _find(ctx.db, email_or_id))
        click.echo(done)


_add_command(
    "disable",
    "Refuse the user, and end all tokens and sessions.",
    service.disable,
    "The user is disabled; tokens and sessions are ended.",
)
_add_command(
    "enable",
    "Let a disabled user log in again.",
    service.enable,
    "The user may log in again.",
)
_add_command(
    "confirm",
    "Take the user's e-mail address as proved.",
    service.confirm,
    "The user's e-mail address is confirmed.",
)
_add_command(
    "sign-out",
    "End all tokens and sessions of the user.",
    service.sign_out,
    "All tokens and sessions of the user are ended.",
)


@user.command("set-password")
@click.argument("email_or_id", metavar="EMAIL_OR_ID")
@password_option
@config_option
def set_password(cfg: Settings, email_or_id: str, password_stdin: bool) -> None:
    """Set a new password; all tokens and sessions of the user end."""
    from authsite.passwords import policy

    password = _password(password_stdin)
    with transaction(cfg) as ctx, _field_errors_as_lines():
        found = _find(ctx.db, email_or_id)
        policy.require_strong(cfg, ctx.passwords, password, found)
        service.set_password(ctx, found.id, ctx.passwords.hash(password))
    click.echo("The password is set; tokens and sessions are ended.")


@contextmanager
def _field_errors_as_lines() -> Iterator[None]:
    """Turn `ValidationFailed` into an error message with one line for each field."""
    try:
        yield
    except ValidationFailed as error:
        lines = [f"{item.field}: {translate(item.message)}" for item in error.details]
        raise click.ClickException("\n".join(lines)) from None


def _find(db: Session, email_or_id: str) -> User:
    found = service.find(db, email_or_id)
    if found is None:
        raise click.ClickException(
            f"no user has the e-mail address or id {email_or_id!r}; `authsite user list` shows them"
        )
    return found


def _password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on: use --password-stdin")
    password: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    return password
