"""What the commands for users share."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from authsite.platform.command_line.results import Done
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.i18n import translate
from authsite.platform.settings import Settings
from authsite.users.account import as_json as user_json
from authsite.users.errors import LastOwner
from authsite.users.models import User

password_option: Callable[[Any], Any] = click.option(
    "--password-stdin", is_flag=True, help="Read the password from the first line of input."
)


def facts_of(user: User) -> dict[str, Any]:
    """The user object of the API, and whether the user is enabled.

    It has all login names that are stored, also of a kind that is not enabled.
    """
    stored = user_json(user, ("username", "phone"))
    return {**stored, "enabled": user.disabled_at is None}


def done(user: User, text: str) -> Done:
    """The result of a command that has changed ``user``."""
    return Done(text, facts_of(user))


# For the operator: the errors of the services speak to the person in the browser.
WORDS = {
    ("taken", "email"): "another user has this address; `authsite user show ADDRESS` shows who",
    ("taken", "username"): "another user has this username; `authsite user list` shows them",
    ("taken", "phone"): "another user has this phone number; `authsite user list` shows them",
    ("required", "email"): "no address was given: give one, such as ann@example.com",
    ("required", "username"): "no username was given: give one, or leave the option out",
    ("required", "phone"): "no phone number was given: give one, or leave the option out",
    ("required", "password"): "no password was given: type one, or give it to --password-stdin",
}


@contextmanager
def field_errors_as_lines() -> Iterator[None]:
    """Turn `ValidationFailed` into an error message with one line for each field."""
    try:
        yield
    except ValidationFailed as error:
        lines = [f"{item.field}: {_words(item)}" for item in error.details]
        raise click.ClickException("\n".join(lines)) from None


def require_kinds(cfg: Settings, kinds: Iterable[str]) -> None:
    """Raise a `click.ClickException` for a kind of login name that users do not have."""
    for kind in kinds:
        if kind not in cfg.login_identifiers:
            raise click.ClickException(
                f"users have no {kind}: add it to authsite.login-identifiers first"
            )


@contextmanager
def last_owner_as_line() -> Iterator[None]:
    """Turn `LastOwner` into an error message for the operator."""
    try:
        yield
    except LastOwner:
        raise click.ClickException(
            "the user is the last enabled owner of this installation: make another user an owner "
            "with `authsite admin grant EMAIL owner` first"
        ) from None


def _words(item: FieldError) -> str:
    return WORDS.get((item.code, item.field or "")) or translate(item.message)


def read_password(from_stdin: bool) -> str:
    """The first line of the input, or what is typed twice at the prompt."""
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on: use --password-stdin")
    password: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    return password
