"""Checking a login: find the user, check the password, pass the steps.

Nothing is held while the password is hashed: the user is read in AUTOCOMMIT, and what is issued
afterwards carries the epoch read here, so that it is dead if the epoch was raised meanwhile.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy import bindparam, select, update
from sqlalchemy.exc import SQLAlchemyError

from authsite.db import Database
from authsite.http.errors import FieldError, ValidationFailed
from authsite.settings import Settings
from authsite.texts import text as _
from authsite.users.account import COLUMNS, Account
from authsite.users.models import LoginName, User
from authsite.users.passwords import HashCapacityExceeded, Passwords

from .identifiers import candidates

log = structlog.get_logger("authsite.login")

LoginStep = Callable[[Settings, Account], None]

_BY_KEY = (
    select(*COLUMNS, User.password_hash, User.disabled_at)
    .join(LoginName, LoginName.user_id == User.id)
    .where(
        LoginName.key.in_(bindparam("keys", expanding=True)),
        LoginName.kind.in_(bindparam("kinds", expanding=True)),
    )
)


_HASH = select(User.password_hash).where(
    User.id == bindparam("user_id"), User.epoch == bindparam("epoch")
)


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of a check: the account if the login is right, else whom it was aimed at."""

    account: Account | None
    aimed_at: Account | None


def check(
    database: Database,
    cfg: Settings,
    passwords: Passwords,
    typed: str,
    password: str,
    kinds: Sequence[str] | None = None,
) -> Checked:
    """Whether ``typed`` and ``password`` are those of an enabled user.

    ``kinds`` are the identifiers that ``typed`` may be (default: all enabled ones). An unknown
    name, a wrong password and a disabled user cost the same hash and give the same answer
    (ASVS 6.3.8). Raises `HashCapacityExceeded` when too many wait.
    """
    row = _find(database, typed, kinds or cfg.login_identifiers, cfg.phone_region)
    right = passwords.check(password, row.password_hash if row else None)
    account = Account(*row[: len(COLUMNS)]) if row else None
    if not right or row is None or row.disabled_at is not None:
        return Checked(None, account)
    if passwords.needs_upgrade(row.password_hash):
        _upgrade(database, passwords, row, password)
    return Checked(account, account)


def find_account(
    database: Database, typed: str, kinds: Sequence[str], region: str | None
) -> Account | None:
    """The enabled user whom ``typed`` names, read apart from any transaction."""
    row = _find(database, typed, kinds, region)
    enabled = row is not None and row.disabled_at is None
    return Account(*row[: len(COLUMNS)]) if enabled else None


def current_password(
    database: Database, passwords: Passwords, account: Account, password: str
) -> None:
    """Let somebody who is signed in prove it anew (ASVS 7.5.1).

    Raises `ValidationFailed` with the code ``invalid_password`` on ``current_password``.
    """
    row = database.one(_HASH, {"user_id": account.id, "epoch": account.epoch})
    if not passwords.check(password, row[0] if row else None):
        message = _("This is not your current password.")
        raise ValidationFailed(
            details=[FieldError("invalid_password", "current_password", message)]
        )


def pass_steps(steps: Sequence[LoginStep], cfg: Settings, account: Account) -> None:
    """Let every step that a room registered have its say; a step refuses by raising."""
    for step in steps:
        step(cfg, account)


def _find(database: Database, typed: str, kinds: Sequence[str], region: str | None) -> Any:
    names = candidates(typed, kinds, region)
    if not names:
        return None
    keys, found_kinds = [name.key for name in names], [name.kind for name in names]
    return database.one(_BY_KEY, {"keys": keys, "kinds": found_kinds})


def _upgrade(database: Database, passwords: Passwords, row: Any, password: str) -> None:
    """Store the hash anew under today's scheme; a failure never fails the login."""
    try:
        stronger = passwords.hash(password)
        with database.writer.begin() as connection:
            connection.execute(
                update(User)
                .where(User.id == row.id, User.password_hash == row.password_hash)
                .values(password_hash=stronger)
            )
    except (HashCapacityExceeded, SQLAlchemyError) as error:
        log.warning("password_upgrade_failed", user=str(row.id), error=type(error).__name__)
