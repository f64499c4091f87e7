"""Resetting a forgotten password (OWASP Forgot Password cheat sheet)."""

from datetime import datetime
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from authsite.audit.service import pseudonym, record
from authsite.db import Database
from authsite.http.errors import FieldError, ValidationFailed
from authsite.http.source import Source
from authsite.keys import KeyRing
from authsite.login.check import find_account
from authsite.login.identifiers import key_of
from authsite.mail import outbox
from authsite.settings import Settings
from authsite.users import service as users
from authsite.users.models import User
from authsite.users.passwords import Passwords, strength

from . import tokens
from .errors import InvalidResetToken


def page_urls(cfg: Settings, base_url: str) -> tuple[str, ...]:
    """The pages that a reset link may lead to; the first is the default."""
    own = f"{base_url}/password/reset"
    if cfg.variant == "B":
        return (cfg.users_reset_password_url or own,)
    return cfg.allowed_reset_password_urls or (own,)


def ask(
    db: Session,
    cfg: Settings,
    now: datetime,
    source: Source,
    email: str,
    page_url: str,
    *,
    quiet: bool = False,
) -> None:
    """Put the letter with a reset link into the outbox, for a known address.

    Unknown, malformed and disabled ones, and ``quiet`` (over the limit), get a row that nobody
    is sent, so that the work is the same. The letter goes to the *stored* address
    (CVE-2019-19844).
    """
    key = key_of("email", email)
    user = users.by_email(db, key)
    told = user if user and not quiet else None
    outbox.put(
        db,
        now,
        letter="reset",
        user_id=told.id if told else None,
        address=told.email if told else outbox.NOBODY,
        page_url=page_url,
        base_url=source.base_url,
        language=source.language,
        expires_at=now + cfg.reset_expires_in,
    )
    details = None if user else {"name": pseudonym(key)}
    record(db, now, source, "recovery.asked", user_id=user.id if user else None, details=details)


def reset(
    db: Session,
    database: Database,
    cfg: Settings,
    ring: KeyRing,
    passwords: Passwords,
    now: datetime,
    source: Source,
    email: str,
    token: str,
    password: str,
) -> None:
    """Spend ``token`` for a new password, and end every session and token family.

    One UPDATE that compares the epoch spends it, so of racing resets one wins. It does not sign
    in and does not confirm the address. Raises `ValidationFailed` for a password that breaks
    the rules (the token stays good), `InvalidResetToken`, and `HashCapacityExceeded`.
    """
    weak = strength.problem(
        password, cfg.password_min_length, [cfg.site_name, cfg.base_url or "", email]
    )
    if weak:
        raise ValidationFailed(details=[FieldError(weak.code, "password", weak.message)])
    account = find_account(database, email, ["email"], cfg.phone_region)
    if account is None or not tokens.is_good(
        ring, token, account.id, account.epoch, account.email, now
    ):
        raise InvalidResetToken
    hashed = passwords.hash(password)
    spent: Any = db.execute(
        update(User)
        .where(
            User.id == account.id,
            User.epoch == account.epoch,
            User.email == account.email,
            User.disabled_at.is_(None),
        )
        .values(epoch=User.epoch + 1, password_hash=hashed, updated_at=now)
        .execution_options(synchronize_session=False)
    )
    if spent.rowcount != 1:
        raise InvalidResetToken
    outbox.put(
        db, now, letter="password_changed", user_id=account.id, address=account.email,
        base_url=source.base_url, language=source.language,
    )  # fmt: skip
    record(db, now, source, "recovery.done", user_id=account.id)
