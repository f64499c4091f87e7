"""The gate between a proof and a sign-in.

A method proves who signs in; the gate decides whether that is enough. Only `Complete` begins a
browser session or issues tokens for a user, and only this module makes one, so mypy finds
a way to sign in that forgets the gate. `Pending` opens nothing: it waits for another proof.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID, uuid4

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record_apart
from authsite.platform.context import Context
from authsite.platform.db import after_commit
from authsite.platform.http.errors import ApiError
from authsite.platform.rate_limit.recognized import Owner, Recognition
from authsite.platform.registrations import Registered
from authsite.platform.runtime import clock
from authsite.platform.runtime.counters import LOGINS
from authsite.sign_in import notices
from authsite.sign_in.credentials import owner_of_user, remember_caller
from authsite.sign_in.failure_reasons import FailureReason
from authsite.sign_in.method import METHODS, Method, Pending, Target, Verified, Wrong
from authsite.sign_in.method import PendingEnded as PendingEnded
from authsite.users.account import PASSWORD, PROMPTED, REMEMBERED, UNDATED, Account, under_new_epoch

from . import mailbox
from . import pending as pending_logins
from .factors import notices as factor_notices
from .factors import remembered, state
from .factors.policy import MAIL_CODE, Missing, SoFar, find_missing, proves_mailbox

# Under which key the attempts at a pending login are counted.


def attempts_of(pending: Pending) -> tuple[Owner, str]:
    """Who is recognized, and under which key the attempts are counted.

    While nothing is proved, that is the name, which may be of no user: a count for all names of a
    user would reveal that they belong to one, and would lock out the user who knows the password.
    """
    name = f"name {pending.name_hash or pending.id}"
    if pending.account is None:
        return Owner(name), name
    owner = owner_of_user(pending.account.id, pending.recognition_version)
    return owner, owner.key if pending.amr else name


# Account conditions: what an account must fulfil at every sign-in and every refresh.
#
# A condition can only deny. A further proof of who signs in is a `methods.Method`.


Check = Callable[[Context, Account], None]
Notify = Callable[[Context, Account], None]


class AccountCondition(NamedTuple):
    """A check after a right proof, and at every refresh.

    ``check`` raises to deny; the audit event of the login then has ``reason``. ``notify`` is set if
    the denial reveals that the account exists: with `prevent-enumeration` the answer is then that
    of a wrong password, and ``notify`` informs the user by mail. It is called before the request
    has written anything.
    """

    check: Check
    notify: Notify | None = None
    reason: FailureReason = FailureReason.DENIED


ACCOUNT_CONDITIONS = Registered[AccountCondition]("account conditions")


class Denial(NamedTuple):
    """The condition that denies, and its error."""

    condition: AccountCondition
    error: ApiError


def find_denial(ctx: Context, account: Account) -> Denial | None:
    """The first condition that denies, if one does."""
    for condition in ACCOUNT_CONDITIONS.of(ctx.services).values():
        try:
            condition.check(ctx, account)
        except ApiError as error:
            return Denial(condition, error)
    return None


def check_account(ctx: Context, account: Account) -> None:
    """Check every condition; raises the error of the first one that denies."""
    if denial := find_denial(ctx, account):
        raise denial.error


# Check one proof: count it before, and record it if it is wrong.


class Denied(Exception):
    """An account condition denies the account; see ``denial``."""

    def __init__(self, denial: Denial) -> None:
        super().__init__(denial)
        self.denial = denial


def method_of(ctx: Context, name: str) -> Method:
    """The method of this name."""
    return METHODS.of(ctx.services)[name]


def verify(
    ctx: Context,
    method: Method,
    given: Mapping[str, str],
    target: Target,
    pending: Pending | None = None,
) -> Verified | Wrong | None:
    """What the method says of ``given``. Raises the error of an account condition that denies."""
    try:
        return method.verify(ctx, target, given, pending)
    except Denied as error:
        raise error.denial.error from None


def check(
    ctx: Context,
    pending: Pending,
    method: str,
    given: Mapping[str, str],
    owner: Owner,
    counted: str | None = None,
) -> Verified | Wrong:
    """Check a further proof: counted for the ``owner`` before, and recorded if it is wrong.

    ``pending``: of a step-up one that is not stored, with the id of the session; then the caller
    calls the method's ``after``. ``counted``: as ``key`` of the limit. Raises as `sign_in`.
    """
    with ctx.limits.second_factor(owner, counted) as attempt:
        verified = verify(ctx, method_of(ctx, method), given, pending.target, pending)
        attempt.succeeded = isinstance(verified, Verified)
    if isinstance(verified, Verified):
        return verified
    wrong = verified or Wrong()
    record_apart(ctx, Event.FACTOR_FAILED, **pending.about(method, wrong))
    return wrong


def fail(ctx: Context, pending: Pending, wrong: Wrong, *, stored: bool = True) -> Wrong:
    """Count a login that a wrong further proof has failed, and tell its user; ``wrong`` again.

    ``stored``: whether the failure is in the row of the pending login.
    """
    LOGINS.add("failed")
    factor_notices.note_failure(ctx, pending.account, pending.amr, more=0 if stored else 1)
    return wrong


@dataclass(frozen=True, slots=True)
class Complete:
    """A sign-in that needs no further proof. Only this module makes one.

    ``amr`` and ``auth_at``: how and when the user signed in; ``recognized``: the time since which
    the browser was recognized before, or None; ``notify``: whether the user gets a notice about a
    new device.
    """

    account: Account
    amr: tuple[str, ...]
    auth_at: datetime
    recognized: datetime | None
    notify: bool
    target: Target


def sign_in(
    ctx: Context, method: str, given: Mapping[str, str], target: Target
) -> Complete | Pending | None:
    """Begin to sign in with the ``method`` of this name; None if ``given`` proves nothing.

    Raises the error of an account condition, and what the method raises.
    """
    verified = verify(ctx, method_of(ctx, method), given, target)
    return advance(ctx, verified, target) if isinstance(verified, Verified) else None


def resume(
    ctx: Context,
    key: str | None,
    method: str,
    given: Mapping[str, str],
    client_id: UUID | None = None,
) -> Complete | Pending | Wrong:
    """Continue the pending login of this ``key`` with a further proof.

    ``client_id``: the client that asks, None for our pages. A pending login that was begun for
    another one is refused: the login of an application must not become a browser session.

    The attempt is counted before it is checked, so that concurrent guesses are counted, too: for
    this pending login, and for the user. The result is `Pending` where something else is missing,
    under the same key. Where a factor must be added (``enroll``), ``method`` is that of the new
    factor, which the caller stores (`factors.enrolling`). Raises `PendingEnded`, and as `sign_in`.
    """
    found = find_pending(ctx, key, client_id)
    if not accepts(ctx, found, method) or not pending_logins.count_attempt(ctx, found.id):
        raise PendingEnded
    owner, counted = attempts_of(found)
    try:
        verified = check(ctx, found, method, given, owner, counted)
    except ApiError:
        pending_logins.refund_attempt(ctx, found.id)  # nothing was checked, or it was right
        raise
    if isinstance(verified, Wrong):
        return fail(ctx, found, verified)
    done = _go_on(ctx, verified, found)
    if after := method_of(ctx, method).after:
        after(ctx, verified.account)
    return done


def complete_at_once(
    ctx: Context, pending: Pending, method: str, given: Mapping[str, str]
) -> Complete | Wrong:
    """Complete a login whose second proof came in the same request as the first one.

    ``pending`` is not stored, and has the second factor as ``method``. The attempt is counted for
    the user as by `resume`. Raises `PendingEnded`, and as `sign_in`.
    """
    verified = check(ctx, pending, method, given, *attempts_of(pending))
    if isinstance(verified, Wrong):
        return fail(ctx, pending, verified, stored=False)
    amr = tuple(dict.fromkeys((*pending.amr, *verified.amr)))
    done = _completed(ctx, verified, pending, amr)
    if after := method_of(ctx, method).after:
        after(ctx, verified.account)
    return done


def find_pending(ctx: Context, key: str | None, client_id: UUID | None = None) -> Pending:
    """The pending login of this ``key`` and client. Raises `PendingEnded`."""
    found = pending_logins.find(ctx, key) if key else None
    if found is None or found.target.client_id != client_id:
        raise PendingEnded
    return found


def accepts(ctx: Context, pending: Pending, method: str) -> bool:
    """Whether the pending login goes on with the method of this name.

    That is one of its methods, or the one of a factor that can be added.
    """
    return method in (ctx.settings.factors if pending.adds_factor else pending.methods)


def admit(
    ctx: Context,
    account: Account,
    amr: tuple[str, ...],
    recognition_version: int = 0,
    recognition: Recognition | None = None,
    factors: state.FactorState | None = None,
) -> Verified:
    """What a method returns for an ``account`` that it has proved. Raises `Denied`.

    ``factors``: what it has read of the second factors; None if nothing.
    """
    if denial := find_denial(ctx, account):
        raise Denied(denial)
    return Verified(account, amr, recognition_version, recognition, None, factors)


def proved_at(verified: Verified, moment: datetime | None, *, prompted: bool = False) -> Verified:
    """``verified`` by a proof that the user gave elsewhere, at ``moment``; None if it is unknown.

    Then it does not count as one of now (`proved_at`). A moment in the future counts as now:
    the clock of a provider may be ahead. ``prompted``: the provider was asked for a proof of now.
    """
    if prompted:
        verified = verified._replace(amr=(*verified.amr, *PROMPTED))
    if moment is None:
        return verified._replace(amr=(*verified.amr, *UNDATED))
    return verified._replace(auth_at=min(moment, clock.now()))


def advance(ctx: Context, verified: Verified, target: Target) -> Complete | Pending:
    """Decide whether a first proof is enough.

    A `Pending` lasts only if the caller stores it (`pending.store`). Call this before the
    transaction has written anything, unless the proof was a mailed link.
    """
    account, recognition, amr = verified.account, verified.recognition, verified.amr
    factors = verified.factors or state.read(ctx, account.id)
    since, unrecognized = recognition and recognition.since, _is_unrecognized(recognition)
    missing = find_missing(ctx, account, SoFar(amr, factors, since, unrecognized))
    if missing and _is_remembered(ctx, account, missing, target):
        missing, amr = None, (*amr, *REMEMBERED)
    if missing is None:
        return _complete(ctx, verified, amr, target)
    return Pending(
        key=pending_logins.new_key(),
        account=account,
        recognition_version=verified.recognition_version,
        amr=amr,
        methods=missing.methods,
        target=target,
        factors=factors,
        recognized=since,
        unrecognized=unrecognized,
        enroll=missing.enroll,
        auth_at=verified.auth_at,
        id=uuid4(),
    )


def carried_over(
    ctx: Context,
    account: Account,
    amr: tuple[str, ...],
    auth_at: datetime,
    recognized: datetime | None,
) -> Complete:
    """The sign-in of a browser session, for the client that has got a code in it.

    The values are those of the session. The account conditions are checked again; raises the error
    of one that denies.
    """
    check_account(ctx, account)
    return Complete(account, amr, auth_at, recognized, notify=False, target=Target())


def under_epoch(done: Complete, epoch: int) -> Complete:
    """``done`` after the other sign-ins of its user were ended, which has raised the epoch."""
    return replace(done, account=under_new_epoch(done.account, epoch))


def without_proof(account: Account) -> Complete:
    """A sign-in without any proof. Only for `authsite.testing`, and for test data."""
    return Complete(account, PASSWORD, clock.now(), None, notify=False, target=Target())


def _is_remembered(ctx: Context, account: Account, missing: Missing, target: Target) -> bool:
    """Whether the browser stands for the second factor; never for tokens of a client."""
    if missing.enroll or target.client_id is not None or MAIL_CODE in missing.methods:
        return False
    return remembered.is_remembered(ctx, account, target.remembered)


def _complete(ctx: Context, verified: Verified, amr: tuple[str, ...], target: Target) -> Complete:
    account, recognition = verified.account, verified.recognition
    notify = _is_unrecognized(recognition) and notices.is_new_device(ctx, account)
    if recognition is not None:
        ctx.limits.remember_login(owner_of_user(account.id, verified.recognition_version))
        ctx.limits.give_back_login()
    else:  # a link: the transaction has written
        remember_caller(ctx, account.id, verified.recognition_version)
    LOGINS.add("succeeded")
    since = recognition.since if recognition else None
    auth_at = verified.auth_at or clock.now()
    return Complete(account, amr, auth_at, since, notify, target)


def _go_on(ctx: Context, verified: Verified, pending: Pending) -> Complete | Pending:
    """Complete the pending login with a right proof, or note it where another one is missing."""
    account = pending.account
    if account is None or verified.account.id != account.id:
        raise PendingEnded
    amr = tuple(dict.fromkeys((*pending.amr, *verified.amr)))
    # A second proof completes the sign-in, but for the mailed code before a factor is added.
    is_first = not pending.amr or (pending.enroll and pending.methods)
    so_far = SoFar(amr, pending.factors, pending.recognized, pending.unrecognized)
    missing = find_missing(ctx, account, so_far) if is_first else None
    if missing:
        noted = pending_logins.note_proof(ctx, pending, amr, missing)
        if noted is None:
            raise PendingEnded
        confirmed = mailbox.confirm_by(ctx, verified.amr, pending)
        if confirmed is None:
            return noted
        # To confirm it may have recovered the account, and so removed the factor that is missing.
        pending = mailbox.keep_valid(ctx, noted, confirmed)
        left = find_missing(ctx, confirmed.account, so_far._replace(factors=confirmed.factors))
        if left:
            return pending._replace(methods=left.methods, enroll=left.enroll)
        verified = verified._replace(account=confirmed.account)
    return _completed(ctx, verified, pending, amr, spend=True)


def _completed(
    ctx: Context, verified: Verified, pending: Pending, amr: tuple[str, ...], *, spend: bool = False
) -> Complete:
    """The sign-in that rests on ``amr``. ``spend``: the pending login is stored, and used up."""
    account = pending.account
    if account is None or verified.account.id != account.id:
        raise PendingEnded
    by_mail = proves_mailbox(amr)  # the user has read that mail just now
    notify = pending.unrecognized and not by_mail and notices.is_new_device(ctx, account)
    if spend and not pending_logins.spend(ctx, pending):
        raise PendingEnded
    version = pending.recognition_version
    if confirmed := mailbox.confirm_by(ctx, verified.amr, pending):
        account, version, _ = confirmed
    remember_caller(ctx, account.id, version)
    counted_before = spend and pending.amr[:1] == PASSWORD
    after_commit(ctx.db, lambda: ctx.limits.give_back_login(counted_before=counted_before))
    LOGINS.add("succeeded")
    auth_at = pending.auth_at or clock.now()
    return Complete(account, amr, auth_at, pending.recognized, notify, pending.target)


def _is_unrecognized(recognition: Recognition | None) -> bool:
    return recognition is not None and not recognition.subject
