"""Log in: find the user, check the password, pass the login steps; with limits and audit events.

No lock and no transaction is held while the password is hashed. The user is read in AUTOCOMMIT, and
everything that is issued afterwards carries the epoch read here: if the epoch was raised meanwhile,
it is inactive.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import structlog
from sqlalchemy import bindparam, select, update
from sqlalchemy.exc import SQLAlchemyError

from authsite.audit.events import FailureReason
from authsite.audit.service import About, pseudonym, record, record_apart
from authsite.context import Context
from authsite.counters import LOGINS
from authsite.db import PreparedQuery, after_commit
from authsite.db.prepared import columns_of
from authsite.http.errors import ApiError
from authsite.passwords import HashCapacityExceeded
from authsite.rate_limit import limit_subject
from authsite.rate_limit.errors import TooManyAttempts
from authsite.rate_limit.recognized import Owner
from authsite.users.account import ACCOUNT_COLUMNS, Account
from authsite.users.models import LoginName, User

from .identifiers import candidates, rate_limit_key
from .notices import send_failed_logins

log = structlog.get_logger("authsite.login")

Check = Callable[[Context, Account], None]
Notify = Callable[[Context, Account], None]


class LoginStep(NamedTuple):
    """A check that every login after a correct password and every refresh must pass.

    ``check`` raises to deny; the audit event of the login then has ``reason``. ``notify`` is set if
    the denial reveals that the account exists: with `prevent-enumeration` the answer is then that
    of a wrong password, and ``notify`` informs the user by mail. It is called before the request
    has written anything.
    """

    check: Check
    notify: Notify | None = None
    reason: FailureReason = "denied"


class Denial(NamedTuple):
    """The login step that denies, and its error."""

    step: LoginStep
    error: ApiError


class Credential(NamedTuple):
    """The user of a login name, and the values that a login is checked against."""

    password_hash: str | None
    disabled_at: datetime | None
    recognition_version: int
    account: Account


class Attempt(NamedTuple):
    """What a login tried: the user that was found, the login name as typed, and the client."""

    found: Credential | None
    typed: str
    client_id: UUID | None

    def about(self, reason: FailureReason | None = None) -> About:
        """What an event of the login is about; ``reason``: why it failed."""
        details = {} if self.found else {"name": pseudonym(self.typed)}
        return {
            "user_id": self.found.account.id if self.found else None,
            "client_id": self.client_id,
            "details": ({"reason": reason} if reason else {}) | details or None,
        }

    @property
    def password_failure(self) -> FailureReason:
        """Why `check_password` found no account."""
        if self.found is None:
            return "unknown_name"
        return "disabled" if self.found.disabled_at else "wrong_password"


CREDENTIAL = PreparedQuery(
    select(*columns_of(User, Credential), *ACCOUNT_COLUMNS)
    .join(LoginName, LoginName.user_id == User.id)
    .where(LoginName.key == bindparam("key"), LoginName.kind == bindparam("kind")),
    Credential,
)


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
    tried = Attempt(found, typed, client_id)
    owner = owner_of(found, name)
    # One count for all names of a user would reveal that the names belong to one user.
    counted = name if ctx.settings.prevent_enumeration else owner.key
    try:
        with ctx.limits.login(counted, owner) as attempt:
            account = check_password(ctx, found, password)
            denial = _denial(ctx, account) if account else None
            notify = denial.step.notify if denial and ctx.settings.prevent_enumeration else None
            attempt.succeeded = account is not None and notify is None
    except TooManyAttempts as error:
        _record_locked(ctx, error, tried, name)
        raise
    reason = denial.step.reason if denial else tried.password_failure
    if account is None or notify:
        LOGINS.add("failed")
        # Counted before anything is written: the limits use a connection of their own.
        allowed = attempt.locked and ctx.limits.allows("failed-logins-notice", owner.key)
        if account and notify:
            notify(ctx, account)
        if attempt.locked:
            informed = found.account if found and allowed and not found.disabled_at else None
            send_failed_logins(ctx, informed)
        record(ctx, "login.failed", **tried.about(reason))
        if attempt.locked:
            record(ctx, "login.closed", **tried.about())
        return None
    if denial:  # apart: the transaction of a denied request is rolled back
        record_apart(ctx, "login.failed", **tried.about(reason))
        raise denial.error
    LOGINS.add("succeeded")
    return account


def forget_failures(ctx: Context, user_id: UUID) -> None:
    """End the lockout of an account under every login name, after a password reset.

    Call it when the reset has been committed.
    """
    accounts = [limit_subject(user_id)]
    if ctx.settings.prevent_enumeration:
        with ctx.database.autocommit.connect() as connection:
            names = select(LoginName.key).where(LoginName.user_id == user_id)
            accounts = list(connection.scalars(names))
    ctx.limits.end_lockout(accounts)


def owner_of(found: Credential | None, name: str) -> Owner:
    """Whose browsers and addresses are recognized at a login with ``name`` in its normal form."""
    if found is None:
        return Owner(name)
    return Owner(limit_subject(found.account.id), found.recognition_version)


def remember_caller(ctx: Context, user_id: UUID, recognition_version: int) -> None:
    """Recognize the browser and address of this request, whose user has recovered the account.

    ``recognition_version``: the one that `users.service.end_sign_ins` has just raised. The view
    sets the cookie with `recognized.set_cookie`.
    """
    owner = Owner(limit_subject(user_id), recognition_version)
    ctx.limits.owner = owner
    # Not before: the counters may be in the same database, which has one writer in SQLite.
    after_commit(ctx.db, lambda: ctx.limits.remember(owner))


def find_credential(ctx: Context, typed: str, kinds: Sequence[str]) -> Credential | None:
    """The user with the login name ``typed``, enabled or not, read outside any transaction."""
    names = candidates(typed, kinds, ctx.settings.phone_region)
    if not names:
        return None
    return CREDENTIAL.one(ctx.database, key=names[0].key, kind=names[0].kind)


def check_password(ctx: Context, found: Credential | None, password: str) -> Account | None:
    """Return the account if ``found`` is an enabled user with this password, else None.

    An unknown user, a wrong password and a disabled user cost the same hash and give the same
    answer (ASVS 6.3.8). Raises `HashCapacityExceeded` if the queue of the hash pool is full.
    """
    right = ctx.passwords.check(password, found.password_hash if found else None)
    if not right or found is None or found.disabled_at:
        return None
    if ctx.passwords.needs_upgrade(found.password_hash):
        _upgrade(ctx, found, password)
    return found.account


def find_account(ctx: Context, typed: str, kinds: Sequence[str]) -> Account | None:
    """The enabled user with the login name ``typed``, read outside any transaction."""
    found = find_credential(ctx, typed, kinds)
    return found.account if found and not found.disabled_at else None


def pass_steps(ctx: Context, account: Account) -> None:
    """Run every login step; raises the error of the first one that denies."""
    if denial := _denial(ctx, account):
        raise denial.error


def _denial(ctx: Context, account: Account) -> Denial | None:
    """The first login step that denies, if one does."""
    for step in ctx.services.extensions.login_steps:
        try:
            step.check(ctx, account)
        except ApiError as error:
            return Denial(step, error)
    return None


def _record_locked(ctx: Context, error: TooManyAttempts, tried: Attempt, name: str) -> None:
    """Record a login that is rejected since the account is locked, once an hour for each address.

    Nothing else limits the number of such requests, since they cost no hash.
    """
    subject = ("login.locked", name, ctx.limits.address)
    if error.limit == "login-account" and ctx.limits.first(*subject):
        record_apart(ctx, "login.failed", **tried.about("locked"))


def _upgrade(ctx: Context, found: Credential, password: str) -> None:
    """Replace the stored hash by one of the current scheme; the login succeeds in any case."""
    try:
        stronger = ctx.passwords.hash(password)
        with ctx.database.transactional.begin() as connection:
            connection.execute(
                update(User)
                .where(User.id == found.account.id, User.password_hash == found.password_hash)
                .values(password_hash=stronger)
            )
    except (HashCapacityExceeded, SQLAlchemyError) as error:
        log.warning(
            "password_upgrade_failed", user=str(found.account.id), error=type(error).__name__
        )
