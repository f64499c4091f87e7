"""Sign in with an identity that is linked: the account conditions, the gate, the session."""

from typing import NamedTuple
from uuid import UUID

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record, record_apart
from authsite.platform.context import Context
from authsite.platform.runtime.counters import LOGINS
from authsite.sign_in import gate
from authsite.sign_in.credentials import owner_of_user
from authsite.sign_in.errors import WrongCredentials
from authsite.sign_in.factors.state import state_of
from authsite.sign_in.failure_reasons import FailureReason
from authsite.sign_in.method import Pending, Target, Verified
from authsite.sign_in.methods.mail_code import service as mail_code
from authsite.sign_in.methods.provider import ProvidedIdentity
from authsite.sign_in.sessions import service as sessions
from authsite.sign_in.sessions.service import BegunSession
from authsite.users import identities
from authsite.users.account import PROVIDER, account_of
from authsite.users.identities import Identity
from authsite.users.models import User

from .known_accounts import Known


class Browser(NamedTuple):
    """What a browser wants of a sign-in. ``former_key``: the key of the session that it has.

    ``remembered``: as of `Target`. ``prompted``: as of `Start`.
    """

    former_key: str | None
    remember: bool = False
    next: str | None = None
    remembered: str | None = None
    prompted: bool = False


def enter_known(
    ctx: Context, known: Known, provided: ProvidedIdentity, browser: Browser
) -> BegunSession | Pending:
    """Sign in the user of a known identity; call it before the transaction has written.

    Raises `WrongCredentials` for a disabled user, and the error of an account condition.
    """
    account = known.account
    if known.disabled_at:
        _record_failure(ctx, account.id, FailureReason.DISABLED)
        raise WrongCredentials(ctx.settings.login_identifiers)
    owner = owner_of_user(account.id, known.recognition_version)
    recognition = ctx.limits.recognition(owner)
    try:
        verified = gate.admit(ctx, account, PROVIDER, owner.version, recognition)
    except gate.Denied as error:
        _record_failure(ctx, account.id, error.denial.condition.reason)
        raise error.denial.error from None
    return _enter(ctx, verified, known.identity_id, provided, browser)


def enter_new(
    ctx: Context, user: User, identity: Identity, provided: ProvidedIdentity, browser: Browser
) -> BegunSession | Pending:
    """Sign in the ``user`` to whom this request has linked the identity.

    Raises the error of an account condition: then nothing of the request stays.
    """
    try:
        verified = gate.admit(
            ctx,
            account_of(user),
            PROVIDER,
            user.recognition_version,
            factors=state_of(user),
        )
    except gate.Denied as error:
        raise error.denial.error from None
    return _enter(ctx, verified, identity.id, provided, browser)


def _enter(
    ctx: Context,
    verified: Verified,
    identity_id: UUID,
    provided: ProvidedIdentity,
    browser: Browser,
) -> BegunSession | Pending:
    target = Target(
        remember=browser.remember,
        next=browser.next,
        identity_id=identity_id,
        remembered=browser.remembered,
    )
    # The gate counts limits: a write before it would make these wait for this transaction.
    dated = gate.proved_at(verified, provided.auth_time, prompted=browser.prompted)
    done = gate.advance(ctx, dated, target)
    if not identities.use(ctx, identity_id, provided.provider):  # removed since it was read
        raise WrongCredentials(ctx.settings.login_identifiers)
    user_id = verified.account.id
    details = {**identities.about(provided), **provided.scopes}
    record(ctx, Event.PROVIDER_SIGNED_IN, user_id=user_id, details=details)
    if isinstance(done, Pending):
        return mail_code.wait(ctx, done, written=True)
    begun = sessions.enter(ctx, done, former_key=browser.former_key)
    if begun is None:
        raise WrongCredentials(ctx.settings.login_identifiers)
    return begun


def _record_failure(ctx: Context, user_id: UUID, reason: FailureReason) -> None:
    LOGINS.add("failed")
    record_apart(ctx, Event.LOGIN_FAILED, user_id=user_id, details={"reason": reason})
