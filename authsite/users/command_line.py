"""How a command names a user: its argument, and what it prints."""

from collections.abc import Callable
from typing import Any

import click
from sqlalchemy.orm import Session

from . import service
from .models import User

user_argument: Callable[[Any], Any] = click.argument("email_or_id", metavar="EMAIL_OR_ID")


def named(user: User) -> str:
    """The address of a user, which may be another person's until it is confirmed."""
    return user.email if user.email_verified_at else f"{user.email} [not confirmed]"


def find(db: Session, email_or_id: str) -> User:
    """The user with this login name or id. Raises `click.ClickException`."""
    found = service.find(db, email_or_id)
    if found is None:
        raise click.ClickException(
            f"no user has the e-mail address or id {email_or_id!r}; `authsite user list` shows them"
        )
    return found
