"""One way to log in, whichever door the name and password came through."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session

from authsite import clock
from authsite.audit.service import pseudonym, record
from authsite.db import Database
from authsite.http.source import Source
from authsite.settings import Settings
from authsite.throttle.attempts import Attempts
from authsite.users.account import Account
from authsite.users.passwords import Passwords

from .check import Checked, LoginStep, check, pass_steps
from .identifiers import counting_key


def log_in(
    db: Session,
    database: Database,
    cfg: Settings,
    passwords: Passwords,
    attempts: Attempts,
    steps: Sequence[LoginStep],
    source: Source,
    typed: str,
    password: str,
    *,
    kinds: Sequence[str] | None = None,
    client_id: UUID | None = None,
) -> Account | None:
    """The user whose name and password these are, or None; a failure is on record then.

    Raises `TooManyAttempts` before any hash, `HashCapacityExceeded`, and what a login step
    raises after a right password. ``kinds``: which identifiers ``typed`` may be.
    """
    kinds = kinds or cfg.login_identifiers
    name = counting_key(typed, kinds, cfg.phone_region)
    with attempts.login(name) as attempt:
        checked = check(database, cfg, passwords, typed, password, kinds)
        attempt.right = checked.account is not None
    if checked.account is None:
        now = clock.now()
        _record(db, now, source, "login.failed", checked, typed, client_id)
        if attempt.closed:
            _record(db, now, source, "login.closed", checked, typed, client_id)
        return None
    pass_steps(steps, cfg, checked.account)
    return checked.account


def _record(
    db: Session,
    now: datetime,
    source: Source,
    event: str,
    checked: Checked,
    typed: str,
    client_id: UUID | None,
) -> None:
    aimed_at = checked.aimed_at.id if checked.aimed_at else None
    details = None if aimed_at else {"name": pseudonym(typed)}
    record(db, now, source, event, user_id=aimed_at, client_id=client_id, details=details)
