"""What the account's API and its page do alike."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from authsite.db import Database
from authsite.http.errors import FieldError, ValidationFailed
from authsite.http.source import Source
from authsite.login.check import current_password
from authsite.oauth import signins
from authsite.settings import Settings
from authsite.signup.service import context_words, identifiers_of, text_mistakes
from authsite.texts import text as _
from authsite.users import profile
from authsite.users.account import Account
from authsite.users.models import User
from authsite.users.passwords import Passwords, strength


def change_profile(
    db: Session,
    cfg: Settings,
    now: datetime,
    source: Source,
    account: Account,
    name: str | None,
    identifiers: Mapping[str, str | None],
) -> User:
    """Change name, username and phone number; None leaves one as it is, empty takes it away.

    Raises `ValidationFailed` with one entry for each mistake, and `IdentifierTaken`.
    """
    wanted = {
        kind: text
        for kind, text in identifiers.items()
        if kind in cfg.login_identifiers and text is not None
    }
    names, mistakes = identifiers_of(cfg, wanted)
    mistakes += text_mistakes("name", name)
    if mistakes:
        raise ValidationFailed(details=mistakes)
    found: dict[str, Any] = dict.fromkeys(wanted) | {item.kind: item for item in names}
    return profile.change(db, now, source, account.id, name, found)


def change_password(
    db: Session,
    database: Database,
    cfg: Settings,
    passwords: Passwords,
    now: datetime,
    source: Source,
    account: Account,
    current: str,
    password: str,
    *,
    family_id: UUID | None = None,
    session_id: UUID | None = None,
) -> None:
    """Change the password; all that was issued ends, save the family or session given.

    Raises `ValidationFailed` (a wrong current password, or a new one that breaks the rules) and
    `HashCapacityExceeded`.
    """
    names = {"email": account.email, "username": account.username, "phone": account.phone}
    words = context_words(cfg, names, account.name)
    weak = strength.problem(password, cfg.password_min_length, words)
    if weak:
        raise ValidationFailed(details=[FieldError(weak.code, "password", weak.message)])
    current_password(database, passwords, account, current)
    hashed = passwords.hash(password)
    epoch = profile.change_password(db, now, source, account.id, account.epoch, hashed)
    if epoch is None:
        message = _("The password was changed elsewhere just now. Log in with the new one.")
        raise ValidationFailed(
            details=[FieldError("invalid_password", "current_password", message)]
        )
    signins.keep(db, epoch, family_id=family_id, session_id=session_id)


def end_others(
    db: Session,
    now: datetime,
    source: Source,
    account: Account,
    *,
    family_id: UUID | None = None,
    session_id: UUID | None = None,
) -> None:
    """Sign the user out everywhere, save in the family or session given."""
    epoch = profile.end_others(db, now, source, account.id, account.epoch)
    signins.keep(db, epoch, family_id=family_id, session_id=session_id)


def delete(
    db: Session,
    database: Database,
    passwords: Passwords,
    now: datetime,
    source: Source,
    account: Account,
    current: str,
) -> None:
    """Erase the account after its password was given once more. Raises `ValidationFailed`."""
    current_password(database, passwords, account, current)
    profile.erase(db, now, source, account.id)
