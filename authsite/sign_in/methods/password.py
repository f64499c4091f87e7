"""The password as a way to sign in: the check, with its limits and audit events.

No lock and no transaction is held while the password is hashed. The user is read in AUTOCOMMIT, and
everything that is issued afterwards carries the epoch read here: if the epoch was raised since
then, it is inactive.
"""

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import About, pseudonym, record, record_apart
from authsite.platform.context import Context
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.rate_limit.recognized import Owner
from authsite.platform.runtime.counters import LOGINS
from authsite.sign_in.credentials import Credential, check_password, find_credential_of, owner_of
from authsite.sign_in.failure_reasons import FailureReason
from authsite.sign_in.gate import Denial, Denied, Notify, admit
from authsite.sign_in.identifiers import candidates, rate_limit_key
from authsite.sign_in.method import Method, Pending, Target, Verified
from authsite.sign_in.notices import send_failed_logins
from authsite.users.account import PASSWORD

NAME = "password"


class Attempt(NamedTuple):
    """What a login tried: the user that was found, the login name as typed, and the client."""

    found: Credential | None
    typed: str
    client_id: UUID | None

    def about(self, reason: FailureReason | None = None) -> About:
        """What an event of the login is about; ``reason``: why it failed."""
        details: dict[str, str] = {} if self.found else {"name": pseudonym(self.typed)}
        return {
            "user_id": self.found.account.id if self.found else None,
            "client_id": self.client_id,
            "details": details | ({"reason": reason} if reason else {}) or None,
        }

    @property
    def password_failure(self) -> FailureReason:
        """Why `check_password` found no account."""
        if self.found is None:
            return FailureReason.UNKNOWN_NAME
        return FailureReason.DISABLED if self.found.disabled_at else FailureReason.WRONG_PASSWORD


def verify(
    ctx: Context, target: Target, given: Mapping[str, str], _pending: Pending | None
) -> Verified | None:
    """The user with this login name and password, or None after recording the failure.

    ``given``: ``username``, ``password``, and perhaps ``kinds``, the kinds of login name that
    ``username`` may be, separated by blanks; by default all that are enabled. Raises
    `TooManyAttempts` before any hash, `HashCapacityExceeded`, and `Denied` after a right password,
    unless the user is notified instead (`AccountCondition`).
    """
    typed = given["username"]
    kinds = given.get("kinds", "").split() or ctx.settings.login_identifiers
    names = candidates(typed, kinds, ctx.settings.phone_region)
    name = rate_limit_key(typed, names)
    found = find_credential_of(ctx, names)
    tried = Attempt(found, typed, target.client_id)
    owner = owner_of(found, name)
    verified, denied = None, None
    try:
        with ctx.limits.login(counted(ctx, name, owner), owner) as attempt:
            account = check_password(ctx, found, given["password"])
            if account:
                try:
                    factors = found.factors if found else None
                    verified = admit(
                        ctx, account, PASSWORD, owner.version, attempt.recognition, factors
                    )
                except Denied as error:
                    denied = error
            notify = _notify(ctx, denied.denial) if denied else None
            attempt.succeeded = account is not None and notify is None
    except TooManyAttempts as error:
        record_locked(ctx, error, tried, name)
        raise
    reason = denied.denial.condition.reason if denied else tried.password_failure
    if account is None or notify:
        informing = notify if account else None
        record_failure(ctx, tried, owner, reason, locked=attempt.locked, notify=informing)
        return None
    if denied:  # apart: the transaction of a denied request is rolled back
        record_apart(ctx, Event.LOGIN_FAILED, **tried.about(reason))
        raise denied
    return verified


METHOD = Method(
    NAME,
    PASSWORD,
    offered=lambda _ctx, account: account is None,  # never after a first proof
    verify=verify,
)


def counted(ctx: Context, name: str, owner: Owner) -> str:
    """What a login with ``name`` counts against.

    One count for all names of a user would reveal that the names belong to one user.
    """
    return name if ctx.settings.prevent_enumeration else owner.key


def record_failure(
    ctx: Context,
    tried: Attempt,
    owner: Owner,
    reason: FailureReason,
    *,
    locked: bool,
    notify: Notify | None = None,
) -> None:
    """Record a failed login; ``locked``: the account is locked now, of which its user is told.

    ``notify`` informs the user of the denial of an account condition. Call it before the request
    has written anything: the limits use a separate connection.
    """
    LOGINS.add("failed")
    allowed = locked and ctx.limits.allows("failed-logins-notice", owner.key)
    if notify and tried.found:
        notify(ctx, tried.found.account)
    if locked:
        found = tried.found if allowed else None
        send_failed_logins(ctx, found.account if found and not found.disabled_at else None)
    record(ctx, Event.LOGIN_FAILED, **tried.about(reason))
    if locked:
        record(ctx, Event.LOGIN_LOCKED, **tried.about())


def _notify(ctx: Context, denial: Denial) -> Notify | None:
    return denial.condition.notify if ctx.settings.prevent_enumeration else None


def record_locked(ctx: Context, error: TooManyAttempts, tried: Attempt, name: str) -> None:
    """Record a login that is rejected since the account is locked, once an hour for each address.

    The error gets its reason, with which `authsite explain` finds each of them.

    Nothing else limits the number of such requests, since they cost no hash.
    """
    if error.limit != "login-account":
        return
    error.why = FailureReason.LOCKED
    if ctx.limits.first("login.locked", name, ctx.limits.address):
        record_apart(ctx, Event.LOGIN_FAILED, **tried.about(FailureReason.LOCKED))
