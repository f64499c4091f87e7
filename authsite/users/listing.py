"""The list of users of the command line."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click
from sqlalchemy import Connection, Select, func, not_, or_, select
from sqlalchemy.orm import Session

from . import service
from .models import LoginName, User


class Found(NamedTuple):
    """Some of the users that were looked for, and how many there are."""

    users: Sequence[User]
    total: int


def search(
    db: Session, limit: int, *, email: str = "", disabled: bool = False, unconfirmed: bool = False
) -> Found:
    """Up to ``limit`` users, oldest first, whose e-mail address contains ``email``.

    With ``disabled`` and ``unconfirmed`` only those that are so.
    """
    conditions = [func.lower(User.email).contains(email.lower(), autoescape=True)]
    if disabled:
        conditions.append(User.disabled_at.is_not(None))
    if unconfirmed:
        conditions.append(User.email_verified_at.is_(None))
    query = select(User).where(*conditions).order_by(User.created_at, User.id).limit(limit)
    total = db.scalar(select(func.count()).select_from(User).where(*conditions)) or 0
    return Found(db.scalars(query).all(), total)


# How many users a rule about e-mail addresses concerns, for `authsite doctor`.


class Census(NamedTuple):
    """Numbers of enabled users: without a confirmed address, and with one of another domain."""

    unconfirmed: int
    of_other_domains: int


def count_users(connection: Connection, domains: Sequence[str]) -> Census:
    """Count the enabled users that ``registration = domains`` concerns; it reads all users."""
    unconfirmed = _enabled().where(User.email_verified_at.is_(None))
    of_domains = or_(*(LoginName.key.endswith(f"@{each}", autoescape=True) for each in domains))
    others = (
        _enabled()
        .join(LoginName, LoginName.user_id == User.id)
        .where(LoginName.kind == "email", not_(of_domains))
    )
    return Census(connection.scalar(unconfirmed) or 0, connection.scalar(others) or 0)


def _enabled() -> Select[int]:
    return select(func.count(User.id)).where(User.disabled_at.is_(None))


# How a command names a user: its argument, and what it prints.


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
