"""What the commands for groups and administrators share."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from authsite.groups.errors import NotConfirmed
from authsite.platform.audit.cause import Cause
from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import translate
from authsite.users.errors import LastOwner

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
