"""``authsite user …``"""

import sys
from collections.abc import Callable
from typing import Any

import click

from authsite import clock
from authsite.cli.shared import (
    config_option,
    json_option,
    print_facts,
    print_json,
    print_table,
    source,
    transaction,
)
from authsite.http.errors import ValidationFailed
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
    with transaction(cfg) as db, _mistakes_as_words():
        made = register(
            db, cfg, _passwords(cfg), clock.now(), source(), {"email": email}, password, name
        )
        if confirmed:
            service.confirm(db, clock.now(), source(), made)
    if as_json:
        return print_json(user_json(made))
    print_facts("The user:", {"id": str(made.id), "email": made.email})


@user.command("list")
@json_option
@config_option
def list_(cfg: Settings, as_json: bool) -> None:
    """List the users."""
    with transaction(cfg) as db:
        users = service.listing(db)
        rows: list[dict[str, Any]] = [
            {**user_json(item), "enabled": item.disabled_at is None} for item in users
        ]
    if as_json:
        return print_json({"users": rows})
    print_table(
        ("id", "email", "username", "phone", "confirmed", "enabled", "created"),
        [
            (r["id"], r["email"], r["username"] or "–", r["phone"] or "–",
             "yes" if r["confirmed"] else "no", "yes" if r["enabled"] else "no", r["created_at"])
            for r in rows
        ],
        empty="No users yet. Make one with `authsite user create --email …`.",
    )  # fmt: skip


def _act(name: str, words: str, act: Callable[..., None], done: str) -> None:
    """A command that does one thing to one user."""

    @user.command(name, help=words)
    @click.argument("who", metavar="EMAIL_OR_ID")
    @config_option
    def command(cfg: Settings, who: str) -> None:
        with transaction(cfg) as db:
            act(db, clock.now(), source(), _find(db, who))
        click.echo(done)


_act(
    "disable", "Refuse the user, and end all tokens and sessions.", service.disable,
    "The user is disabled; tokens and sessions are ended.",
)  # fmt: skip
_act("enable", "Let a disabled user log in again.", service.enable, "The user may log in again.")
_act(
    "confirm", "Take the user's e-mail address as proved.", service.confirm,
    "The user's e-mail address is confirmed.",
)  # fmt: skip
_act(
    "sign-out", "End all tokens and sessions of the user.", service.sign_out,
    "All tokens and sessions of the user are ended.",
)  # fmt: skip


@user.command("set-password")
@click.argument("who", metavar="EMAIL_OR_ID")
@password_option
@config_option
def set_password(cfg: Settings, who: str, password_stdin: bool) -> None:
    """Set a new password; all tokens and sessions of the user end."""
    from authsite.signup.service import context_words
    from authsite.users.passwords.strength import problem

    password = _password(password_stdin)
    with transaction(cfg) as db:
        found = _find(db, who)
        words = context_words(cfg, {"email": found.email}, found.name)
        weak = problem(password, cfg.password_min_length, words)
        if weak:
            raise click.ClickException(f"password: {weak.message}")
        hashed = _passwords(cfg).hash(password)
        service.set_password(db, clock.now(), source(), found.id, hashed)
    click.echo("The password is set; tokens and sessions are ended.")


class _mistakes_as_words:
    """Turn `ValidationFailed` into a line for each field."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, ValidationFailed):
            lines = [f"{item.field}: {item.message}" for item in error.details]
            raise click.ClickException("\n".join(lines)) from None


def _find(db: Any, who: str) -> User:
    found = service.find(db, who)
    if found is None:
        raise click.ClickException(
            f"no user has the e-mail address or id {who!r}; `authsite user list` shows them"
        )
    return found


def _password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on: use --password-stdin")
    password: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    return password


def _passwords(cfg: Settings) -> Any:
    from authsite.users.passwords import HashGate, Passwords

    return Passwords(cfg.bcrypt_cost, cfg.password_pepper, HashGate())
