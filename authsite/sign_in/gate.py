"""The gate between a proof and a sign-in.

A method proves who signs in; the gate decides whether that is enough. Only `Complete` begins a
browser session or issues tokens for a user, and only this module makes one, so mypy finds
a way to sign in that forgets the gate. `Pending` opens nothing: it waits for another proof.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from authsite.context import Context
from authsite.platform.audit.events import Event
from authsite.platform.audit.failure_reasons import FailureReason
from authsite.platform.audit.service import record_apart
from authsite.platform.http.errors import ApiError
from authsite.platform.rate_limit.recognized import Recognition
from authsite.platform.runtime import clock
from authsite.platform.runtime.counters import LOGINS
from authsite.sign_in import notices
from authsite.sign_in.credentials import owner_of_user, remember_caller
from authsite.sign_in.method import METHODS, Method, Pending, Target, Verified, methods_after
from authsite.users.account import Account

from . import pending as pending_logins
from .conditions import Denial, check_account, find_denial
from .facts import PASSWORD


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


class Denied(Exception):
    """An account condition denies the account; see ``denial``."""

    def __init__(self, denial: Denial) -> None:
        super().__init__(denial)
        self.denial = denial


class PendingEnded(Exception):
    """The pending login has expired, failed too often, was used, or its user or client changed.

    Or it was begun for another client.
    """


def sign_in(
    ctx: Context, method: str, given: Mapping[str, str], target: Target
) -> Complete | Pending | None:
    """Begin to sign in with the ``method`` of this name; None if ``given`` proves nothing.

    Raises the error of an account condition, and what the method raises.
    """
    verified = _verify(ctx, _method(ctx, method), given, target)
    return None if verified is None else advance(ctx, verified, target)


def resume(
    ctx: Context,
    key: str | None,
    method: str,
    given: Mapping[str, str],
    client_id: UUID | None = None,
) -> Complete | None:
    """Continue the pending login of this ``key``; None if ``given`` proves nothing.

    ``client_id``: the client that asks, None for our pages. A pending login that was begun for
    another one is refused: the login of an application must not become a browser session.

    The attempt is counted before it is checked, so that concurrent guesses are counted, too. Raises
    `PendingEnded`, and as `sign_in`.
    """
    found = pending_logins.find(ctx, key) if key else None
    if found is None or method not in found.methods or found.target.client_id != client_id:
        raise PendingEnded
    if not pending_logins.count_attempt(ctx, found):
        raise PendingEnded
    try:
        verified = _verify(ctx, _method(ctx, method), given, found.target, found)
    except ApiError:
        pending_logins.refund_attempt(ctx, found)  # nothing was checked, or it was right
        raise
    if verified is None:
        LOGINS.add("failed")
        record_apart(ctx, Event.LOGIN_FAILED, **found.about(FailureReason.WRONG_FACTOR))
        return None
    return _complete_pending(ctx, verified, found)


def admit(
    ctx: Context,
    account: Account,
    amr: tuple[str, ...],
    recognition_version: int = 0,
    recognition: Recognition | None = None,
) -> Verified:
    """What a method returns for an ``account`` that it has proved. Raises `Denied`."""
    if denial := find_denial(ctx, account):
        raise Denied(denial)
    return Verified(account, amr, recognition_version, recognition)


def proved_at(verified: Verified, moment: datetime | None) -> Verified:
    """``verified`` by a proof that the user gave elsewhere, at ``moment``; None if it is unknown.

    A moment in the future counts as now: the clock of a provider may be ahead.
    """
    if moment is None:
        return verified
    account, amr, version, recognition, _ = verified
    return Verified(account, amr, version, recognition, min(moment, clock.now()))


def advance(ctx: Context, verified: Verified, target: Target) -> Complete | Pending:
    """Decide whether a first proof is enough.

    A `Pending` lasts only if the caller stores it (`pending.store`). Call this before the
    transaction has written anything, unless the proof was a mailed link.
    """
    account, recognition = verified.account, verified.recognition
    methods = methods_after(ctx, account, verified.amr)
    if not methods:
        return _complete(ctx, verified, target)
    return Pending(
        key=pending_logins.new_key(),
        account=account,
        recognition_version=verified.recognition_version,
        amr=verified.amr,
        methods=methods,
        target=target,
        recognized=recognition.since if recognition else None,
        unrecognized=_is_unrecognized(recognition),
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


def without_proof(account: Account) -> Complete:
    """A sign-in without any proof. Only for `authsite.testing`, and for test data."""
    return Complete(account, PASSWORD, clock.now(), None, notify=False, target=Target())


def _method(ctx: Context, name: str) -> Method:
    return METHODS.of(ctx.services)[name]


def _verify(
    ctx: Context,
    method: Method,
    given: Mapping[str, str],
    target: Target,
    pending: Pending | None = None,
) -> Verified | None:
    try:
        return method.verify(ctx, target, given, pending)
    except Denied as error:
        raise error.denial.error from None


def _complete(ctx: Context, verified: Verified, target: Target) -> Complete:
    account, recognition = verified.account, verified.recognition
    notify = _is_unrecognized(recognition) and notices.is_new_device(ctx, account)
    if recognition is not None:
        ctx.limits.remember_login(owner_of_user(account.id, verified.recognition_version))
    elif ctx.limits.limiter is not None:  # a link: the transaction has written
        remember_caller(ctx, account.id, verified.recognition_version)
    LOGINS.add("succeeded")
    since = recognition.since if recognition else None
    auth_at = verified.auth_at or clock.now()
    return Complete(account, verified.amr, auth_at, since, notify, target)


def _complete_pending(ctx: Context, verified: Verified, pending: Pending) -> Complete:
    account = pending.account
    if verified.account.id != account.id:
        raise PendingEnded
    notify = pending.unrecognized and notices.is_new_device(ctx, account)
    if not pending_logins.spend(ctx, pending):
        raise PendingEnded
    remember_caller(ctx, account.id, pending.recognition_version)
    LOGINS.add("succeeded")
    amr = tuple(dict.fromkeys((*pending.amr, *verified.amr)))
    return Complete(account, amr, clock.now(), pending.recognized, notify, pending.target)


def _is_unrecognized(recognition: Recognition | None) -> bool:
    return recognition is not None and not recognition.subject
