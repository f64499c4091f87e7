"""A sign-in that must add a second factor: the factor is stored when the sign-in is complete."""

from collections.abc import Mapping
from typing import NamedTuple

from authsite.platform.context import Context
from authsite.platform.runtime import clock
from authsite.sign_in import gate
from authsite.sign_in.gate import Complete, PendingEnded
from authsite.sign_in.method import Pending, Wrong
from authsite.sign_in.methods.passkeys import registration
from authsite.sign_in.methods.passkeys.registration import InvalidCredential
from authsite.sign_in.methods.totp import enrollment
from authsite.sign_in.methods.totp.enrollment import Enrollment
from authsite.sign_in.sessions import service as sessions
from authsite.sign_in.sessions.service import BegunSession
from authsite.users import service as users
from authsite.users.errors import SignInEnded
from authsite.users.models import unchanged_since

from . import service
from .errors import NotOffered
from .policy import TOTP, Proved


class Enrolled(NamedTuple):
    """The sign-in with which the session or the tokens begin, and the recovery codes, if made.

    All other sign-ins of the user have ended.
    """

    done: Complete
    recovery_codes: tuple[str, ...] | None


def begin_totp(ctx: Context, pending: Pending) -> Enrollment:
    """A new authenticator app for a pending login that must add a factor.

    Raises `PendingEnded` where that is not what it waits for, and `NotOffered`.
    """
    if not pending.adds_factor:
        raise PendingEnded
    if not enrollment.is_offered(ctx):
        raise NotOffered
    proved = Proved(pending.amr, pending.auth_at or clock.now())
    return enrollment.begin(ctx, pending.user, pending.id, proved)


def store_totp(
    ctx: Context, pending: Pending, done: Complete, given: Mapping[str, str]
) -> Enrolled:
    """Store the authenticator app whose code has completed the sign-in, after `gate.resume`.

    ``given``: ``enrollment`` and ``code``, which the gate has just checked. Raises `PendingEnded`
    if they do not serve any more, or the user has changed; then the user signs in again.
    """
    account = done.account
    new = enrollment.confirm(
        ctx, account, pending.id, given.get("enrollment", ""), given.get("code", "")
    )
    if isinstance(new, Wrong):  # the clock went on between the two checks
        raise PendingEnded
    try:
        service.lock(ctx, account)
        id = enrollment.store(ctx, account, new)
        made = service.added(ctx, account, TOTP, id, None)
    except SignInEnded:
        raise PendingEnded from None
    return Enrolled(end_others(ctx, done), made.recovery_codes)


def store_passkey(
    ctx: Context, pending: Pending, done: Complete, given: Mapping[str, str]
) -> Enrolled:
    """Store the passkey that has completed the sign-in, after `gate.resume`.

    ``given``: ``credential``, which the gate has just checked, and perhaps ``name``. Raises
    `PendingEnded` if it does not serve any more, or the user has changed.
    """
    try:
        made = registration.register(
            ctx,
            done.account,
            pending.id,
            given.get("credential"),
            given.get("name"),
            session_id=None,
        )
    except (SignInEnded, InvalidCredential):
        raise PendingEnded from None
    return Enrolled(end_others(ctx, done), made.added.recovery_codes)


def end_others(ctx: Context, done: Complete) -> Complete:
    """End all other sign-ins of a user whose sign-in has just added a first factor.

    Returns the sign-in under the user's new epoch. Raises `PendingEnded`.
    """
    changed = users.end_sign_ins(ctx, done.account.id, *unchanged_since(done.account.epoch))
    if changed is None:
        raise PendingEnded
    return gate.under_epoch(done, changed.epoch)


# A browser session that begins with a factor that was added at the sign-in.


class BegunWithCodes(NamedTuple):
    """The session that has begun, and the recovery codes if they were made; they are shown once."""

    begun: BegunSession
    recovery_codes: tuple[str, ...] | None


def resume(
    ctx: Context,
    pending: Pending,
    method: str,
    given: Mapping[str, str],
    *,
    former_key: str | None,
) -> BegunWithCodes | Pending | Wrong:
    """Add a factor, and begin the session. Raises as `sessions.resume`, and what storing raises."""
    done = gate.resume(ctx, pending.key, method, given)
    if not isinstance(done, Complete):
        return done
    enrolled = _store(ctx, pending, done, method, given)
    begun = sessions.enter(ctx, enrolled.done, former_key=former_key)
    if begun is None:
        raise gate.PendingEnded
    return BegunWithCodes(begun, enrolled.recovery_codes)


def _store(
    ctx: Context, pending: Pending, done: Complete, method: str, given: Mapping[str, str]
) -> Enrolled:
    store = store_totp if method == TOTP else store_passkey
    return store(ctx, pending, done, given)
