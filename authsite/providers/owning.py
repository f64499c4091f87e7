"""Prove an account that has the address already, and link the identity to it.

With the password, or with another identity of the account, everything in the account stays. A
mailed link proves the mailbox alone, and acts as a reset: a stranger may have registered the
account and had the address confirmed, and must keep nothing.
"""

from datetime import datetime

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.http.errors import ValidationFailed
from authsite.platform.i18n import _
from authsite.platform.mail.outbox import Recipient
from authsite.platform.passwords import policy
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.settings.sections.providers import Provider
from authsite.sign_in import mailbox
from authsite.sign_in.credentials import Credential, check_password, owner_of
from authsite.sign_in.errors import WrongCredentials
from authsite.sign_in.identifiers import normalized_key
from authsite.sign_in.method import Pending
from authsite.sign_in.methods import password
from authsite.sign_in.sessions.models import BrowserSession
from authsite.sign_in.sessions.service import BegunSession
from authsite.users import identities
from authsite.users import service as users
from authsite.users.account import SignedInUser
from authsite.users.identities import Identity
from authsite.users.mails import send_welcome
from authsite.users.models import User

from . import waiting
from .entering import enter_known, enter_new
from .known_accounts import Step
from .linking.service import Changed, WrongPassword
from .visits import Visit, join, require_step, required

_ACCOUNT = (Step.CONNECT, Step.CLAIM)


def connect(
    ctx: Context, visit: Visit, given: str | None, former_key: str | None
) -> BegunSession | Pending:
    """Link the identity to the account whose password is ``given``; confirm the address; sign in.

    Limited and recorded as a login. Raises `WrongPassword`, `TooManyAttempts` before any hash,
    `HashCapacityExceeded`, `Changed` and `ProviderRefused`.
    """
    holder = _holder(visit, *_ACCOUNT)
    if not given:
        raise required("password", _("Enter your password."))
    _require_password(ctx, holder, given)
    return _link(ctx, visit, _unchanged(ctx, holder), former_key)


def connect_signed_in(
    ctx: Context, visit: Visit, caller: SignedInUser | None, former_key: str | None
) -> BegunSession | Pending:
    """Link the identity to the account that is signed in with another one of its identities.

    Raises `Changed`, also for another sign-in, and `ProviderRefused`.
    """
    holder = _holder(visit, Step.CONNECT)
    if not is_signed_in_with_identity(ctx, visit, caller):
        raise Changed
    return _link(ctx, visit, _unchanged(ctx, holder), former_key)


def recover(
    ctx: Context, visit: Visit, new_password: str | None, former_key: str | None
) -> BegunSession | Pending:
    """Link the identity to the account whose mailbox a mailed link has proved, and sign in.

    An account that has never confirmed the address gets the ``new_password``; that of another one
    becomes unusable, and can be set again by mail. Raises `ValidationFailed` for a password that
    breaks the policy, `WrongCredentials` for a disabled user, `HashCapacityExceeded`, `Changed` and
    `ProviderRefused`.
    """
    holder = _holder(visit, *_ACCOUNT)
    if not visit.by_mail:
        raise Changed
    hashed = None
    if visit.found.step is Step.CLAIM:
        hashed = _hash_new(ctx, holder, new_password)
    user = reset_by_mail(ctx, holder, visit.waiting.mailed_at, hashed)
    return _link(ctx, visit, user, former_key)


def enter_proved(ctx: Context, visit: Visit, former_key: str | None) -> BegunSession | Pending:
    """Sign in the user of a known identity, which a mailed link has proved to be in `domains`.

    It changes nothing else in the account: the identity is its own. Raises as `enter_known`, and
    `Changed` and `ProviderRefused`.
    """
    require_step(visit, Step.SIGN_IN)
    known = visit.found.known
    if known is None or not visit.by_mail:
        raise Changed
    provided = visit.waiting.provided
    entered = enter_known(ctx, known, provided, visit.browser(former_key))
    waiting.spend(ctx, visit.provider, visit.waiting)
    identities.note_proved(ctx, known.identity_id, visit.address)
    return entered


def reset_by_mail(
    ctx: Context, holder: Credential, mailed_at: datetime | None, password_hash: str | None
) -> User:
    """What a mailed link does to an account that was there; see `mailbox.recover`.

    The user, as they are now. Raises `WrongCredentials` if the user is disabled, and `Changed`,
    also for a link that was mailed before the latest recovery by this mailbox: an intruder who
    could read it then must not come back.
    """
    if holder.disabled_at:
        raise WrongCredentials(ctx.settings.login_identifiers)
    latest = or_(User.links_ended_at.is_(None), User.links_ended_at < mailed_at)
    user = mailbox.recover(ctx, holder.account, password_hash, latest)
    if user is None:
        raise Changed
    return user


def is_signed_in_with_identity(ctx: Context, visit: Visit, caller: SignedInUser | None) -> bool:
    """Whether the account with the address is signed in, with one of its usable identities."""
    holder = visit.found.holder
    if caller is None or holder is None or caller.account.id != holder.account.id:
        return False
    with Session(ctx.database.autocommit) as reading:
        used = select(Identity).join(BrowserSession, BrowserSession.identity_id == Identity.id)
        found = reading.scalars(
            used.where(
                BrowserSession.id == caller.browser_session_id,
                Identity.user_id == holder.account.id,
            )
        ).all()
    return bool(identities.usable(ctx.settings, found))


def other_providers(ctx: Context, visit: Visit) -> list[Provider]:
    """The providers whose identities the account with the address has, for its owner to prove it.

    Only for a proved address: what an account has must not be told to others.
    """
    holder = visit.found.holder
    if holder is None or visit.found.step is not Step.CONNECT:
        return []
    with Session(ctx.database.autocommit) as reading:
        linked = select(Identity).where(Identity.user_id == holder.account.id)
        usable = identities.usable(ctx.settings, reading.scalars(linked).all())
    names = {identity.provider for identity in usable} - {visit.provider.name}
    return [each for each in ctx.settings.providers if each.name in names]


def _holder(visit: Visit, *steps: Step) -> Credential:
    require_step(visit, *steps)
    if visit.found.holder is None:
        raise Changed
    return visit.found.holder


def _unchanged(ctx: Context, holder: Credential) -> User:
    """The row of the account, locked. Raises `Changed` if its sign-ins were ended since then."""
    user = users.lock_unchanged(ctx.db, holder.account.id, holder.account.epoch)
    if user is None:
        raise Changed
    return user


def _link(ctx: Context, visit: Visit, user: User, former_key: str | None) -> BegunSession | Pending:
    provided = visit.waiting.provided
    if visit.found.step is Step.CLAIM:
        users.confirm(ctx, user)
        send_welcome(ctx, Recipient(user.id, user.email))
        details = {**identities.about(provided), "way": "mine"}
        record(ctx, Event.PROVIDER_CLAIMED, user_id=user.id, details=details)
    identity = join(ctx, visit, user.id)
    return enter_new(ctx, user, identity, provided, visit.browser(former_key))


def _require_password(ctx: Context, holder: Credential, given: str) -> None:
    """Check the password as a login does, but for the account conditions: `_link` confirms."""
    account = holder.account
    tried = password.Attempt(holder, account.email, None)
    name, owner = normalized_key("email", account.email), owner_of(holder, account.email)
    try:
        with ctx.limits.login(password.counted(ctx, name, owner), owner) as attempt:
            attempt.succeeded = check_password(ctx, holder, given) is not None
    except TooManyAttempts as error:
        password.record_locked(ctx, error, tried, name)
        raise
    if attempt.succeeded:
        return
    password.record_failure(ctx, tried, owner, tried.password_failure, locked=attempt.locked)
    raise WrongPassword


def _hash_new(ctx: Context, holder: Credential, password: str | None) -> str:
    if not password:
        raise required("password", _("Choose a password."))
    weak = policy.weakness(ctx.settings, ctx.passwords, password, holder.account)
    if weak:
        raise ValidationFailed(details=[weak])
    return ctx.passwords.hash(password)
