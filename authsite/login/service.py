"""Log in: limits, audit events and the answer, for all views."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select

from authsite.audit.events import EventName
from authsite.audit.service import pseudonym, record
from authsite.context import Context
from authsite.counters import LOGINS
from authsite.users.account import Account
from authsite.users.models import LoginName

from .check import (
    Credential,
    check_password,
    find_credential,
    hidden_denial,
    pass_steps,
)
from .identifiers import rate_limit_key
from .notices import send_failed_logins
from .subjects import limit_subject


def log_in(
    ctx: Context,
    typed: str,
    password: str,
    *,
    kinds: Sequence[str] | None = None,
    client_id: UUID | None = None,
) -> Account | None:
    """Return the user with this login name and password, or None after recording the failure.

    ``kinds``: the identifiers that ``typed`` may be; by default all that are enabled. Raises
    `TooManyAttempts` before any hash, `HashCapacityExceeded`, and what a login step raises after a
    correct password, unless the user is notified instead (`LoginStep`).
    """
    kinds = kinds or ctx.settings.login_identifiers
    name = rate_limit_key(typed, kinds, ctx.settings.phone_region)
    found = find_credential(ctx, typed, kinds)
    owner = limit_subject(found.account.id) if found else name
    # One count for all names of a user would reveal that the names belong to one user.
    counted = name if ctx.settings.prevent_enumeration else owner
    with ctx.limits.login(counted, owner) as attempt:
        account = check_password(ctx, found, password)
        notify = hidden_denial(ctx, account)
        attempt.succeeded = account is not None and notify is None
    if account is None or notify:
        LOGINS.add("failed")
        # Counted before anything is written: the limits use a connection of their own.
        allowed = attempt.locked and ctx.limits.allows("failed-logins-notice", owner)
        if account and notify:
            notify(ctx, account)
        if attempt.locked:
            send_failed_logins(ctx, found, allowed=allowed)
        _record(ctx, "login.failed", found, typed, client_id)
        if attempt.locked:
            _record(ctx, "login.closed", found, typed, client_id)
        return None
    pass_steps(ctx, account)
    LOGINS.add("succeeded")
    return account


def forget_failures(ctx: Context, user_id: UUID) -> None:
    """End the lockout of an account under every login name, after a password reset.

    Call it when the reset has been committed.
    """
    owner = limit_subject(user_id)
    accounts = [owner]
    if ctx.settings.prevent_enumeration:
        with ctx.database.autocommit.connect() as connection:
            names = select(LoginName.key).where(LoginName.user_id == user_id)
            accounts = list(connection.scalars(names))
    ctx.limits.end_lockout(accounts, owner)


def _record(
    ctx: Context, event: EventName, found: Credential | None, typed: str, client_id: UUID | None
) -> None:
    user_id = found.account.id if found else None
    details = None if found else {"name": pseudonym(typed)}
    record(ctx, event, user_id=user_id, client_id=client_id, details=details)
