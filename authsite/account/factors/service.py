"""Add, replace and remove the second factors of a signed-in user, and make new recovery codes."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, delete, or_, select

from authsite.account.service import end_others as end_other_sign_ins
from authsite.guards.errors import EmailNotConfirmed
from authsite.oauth.models import Client, Family
from authsite.oauth.tokens import families
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.rate_limit import limit_subject
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import amr_of
from authsite.sign_in.factors import policy, remaining, remembered, service
from authsite.sign_in.factors import service as factors
from authsite.sign_in.factors.errors import NotOffered, UnknownFactor, WrongFirstCode
from authsite.sign_in.factors.policy import Proved, can_keep_secrets
from authsite.sign_in.method import Wrong
from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.sign_in.methods.totp import enrollment as totp
from authsite.sign_in.methods.totp.enrollment import Enrollment
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.sign_in.reauthentication import ProofFields, is_recent, require_proof
from authsite.sign_in.sessions import service as sessions
from authsite.sign_in.sessions.models import BrowserSession
from authsite.sign_in.sessions.service import RenewedSession
from authsite.users.account import EMAIL, PASSWORD, TOTP, SignedInUser, proved_at
from authsite.users.errors import SignInEnded
from authsite.users.models import User

# What a user must prove before a change of the factors.


LIMIT = "factor-changes"


class SignInFacts(NamedTuple):
    """How and when a sign-in was proved, and since when its browser had been recognized."""

    facts: str | None
    auth_at: datetime
    recognized: datetime | None
    has_password: bool


def _facts_of(model: type[BrowserSession] | type[Family]) -> PreparedQuery[SignInFacts]:
    columns: tuple[Any, ...] = (
        model.facts,
        model.auth_at,
        model.recognized,
        User.password_hash.is_not(None).label("has_password"),
    )
    of_user = model.id == bindparam("id"), model.user_id == bindparam("user_id")
    query = select(*columns).join(User, User.id == model.user_id).where(*of_user)
    return PreparedQuery(query, SignInFacts)


FACTS_OF_SESSION = _facts_of(BrowserSession)
FACTS_OF_FAMILY = _facts_of(Family)


def require(ctx: Context, user: SignedInUser, given: ProofFields) -> None:
    """Ask for the proof of a change, and count the change. Call it before anything is written.

    Raises what `require_proof` raises, and `TooManyAttempts`.
    """
    require_proof(ctx, user, given, of_factors=True, before_writing=lambda: _count(ctx, user))


def require_for_adding(ctx: Context, user: SignedInUser, given: ProofFields) -> Proved:
    """As `require`, before a factor or passkey is added; what the user has proved.

    A first one needs a confirmed address and a mailed code, unless this sign-in may add it without
    (`policy.may_enroll`): who only knows the password must not lock the user out. Raises
    `EmailNotConfirmed`, too; a code that is missing or wrong is an error of ``mail_code``.
    """
    facts = _facts(ctx, user)
    with_code = _needs_mail_code(ctx, user, facts)
    if with_code and not user.account.confirmed:
        require_proof(ctx, user, given, of_factors=True)
        raise EmailNotConfirmed
    require_proof(
        ctx,
        user,
        given,
        with_code=with_code,
        of_factors=True,
        before_writing=lambda: _count(ctx, user),
    )
    by_password = facts.has_password and given.current_password is not None
    amr = PASSWORD if by_password else amr_of(facts.facts)
    if with_code:
        amr = (*(each for each in amr if each not in EMAIL), *EMAIL)
    proved_now = with_code or by_password
    return Proved(amr, clock.now() if proved_now else facts.auth_at)


def _count(ctx: Context, user: SignedInUser) -> None:
    ctx.limits.count(LIMIT, limit_subject(user.account.id))


def needs_mail_code(ctx: Context, user: SignedInUser) -> bool:
    """Whether adding a factor needs a mailed code: it is the first one, and may be a thief's.

    Raises `SignInEnded`.
    """
    return _needs_mail_code(ctx, user, _facts(ctx, user))


def _needs_mail_code(ctx: Context, user: SignedInUser, facts: SignInFacts) -> bool:
    if service.has_factor(ctx, user.account.id):
        return False
    amr = amr_of(facts.facts)
    amr = amr if is_recent(proved_at(amr, facts.auth_at)) else ()
    account, now = user.account, clock.now()
    return not (account.confirmed and policy.may_enroll(account, amr, facts.recognized, now))


def _facts(ctx: Context, user: SignedInUser) -> SignInFacts:
    query = FACTS_OF_FAMILY if user.family_id else FACTS_OF_SESSION
    facts = query.one(ctx.database, id=user.session_id, user_id=user.account.id)
    if facts is None:
        raise SignInEnded
    return facts


class Changed(NamedTuple):
    """What adding a factor led to: new recovery codes, and the new key of a browser session."""

    recovery_codes: tuple[str, ...] | None = None
    renewed: RenewedSession | None = None


def begin_totp(ctx: Context, user: SignedInUser, given: ProofFields) -> Enrollment:
    """A new authenticator app, which replaces the present one when a code of it is confirmed.

    Raises `NotOffered`, and what `require_for_adding` raises.
    """
    if not totp.is_offered(ctx):
        raise NotOffered
    proved = require_for_adding(ctx, user, given)
    return totp.begin(ctx, user.account, session_id(user), proved)


def confirm_totp(
    ctx: Context, user: SignedInUser, enrollment: str, code: str, end_others: bool | None
) -> Changed:
    """Store the new authenticator app if ``code`` is one of its codes now.

    ``end_others``: see `finish`. Raises `NotOffered`, `InvalidEnrollment`, `WrongFirstCode` and
    `SignInEnded`.
    """
    if not totp.is_offered(ctx):
        raise NotOffered
    account, present = user.account, session_id(user)
    new = totp.confirm(ctx, account, present, enrollment, code)
    if isinstance(new, Wrong):
        raise WrongFirstCode
    factors.lock(ctx, account)
    replaced = factors.overview(ctx, account.id).totp is not None
    id = totp.store(ctx, account, new)
    added = factors.added(ctx, account, policy.TOTP, id, present, replaced=replaced)
    return finish(ctx, user, added, new.proved, TOTP, end_others)


def finish(
    ctx: Context,
    user: SignedInUser,
    added: factors.Added,
    proved: Proved,
    amr: tuple[str, ...],
    end_others: bool | None,
) -> Changed:
    """What a signed-in user's new factor means for the sign-ins, after `factors.added`.

    With a first factor the present sign-in gets its level: it rests on what was ``proved`` before,
    and on the ``amr`` of the factor. ``end_others``: whether the other sign-ins end; by default
    with a first factor. Raises `SignInEnded`.
    """
    renewed = None
    if added.first:
        renewed = _raise_level(ctx, user, Proved((*proved.amr, *amr), proved.at))
    if added.first if end_others is None else end_others:
        renewed = end_other_sign_ins(ctx, user) or renewed
    return Changed(added.recovery_codes, renewed)


def remove_totp(ctx: Context, user: SignedInUser, given: ProofFields) -> None:
    """Remove the authenticator app.

    Raises `UnknownFactor`, `LastFactor`, what `require` raises, and `SignInEnded`.
    """
    require(ctx, user, given)
    factors.lock(ctx, user.account)
    removed = ctx.db.scalar(
        delete(TotpFactor)
        .where(TotpFactor.user_id == user.account.id)
        .returning(TotpFactor.id)
        .execution_options(synchronize_session=False)
    )
    if removed is None:
        raise UnknownFactor
    factors.removed(ctx, user.account, policy.TOTP, removed, user.session_id)


def remove_remaining(ctx: Context, user: SignedInUser, token: str, factor_id: UUID) -> bool:
    """Remove a factor or passkey that a recovery has left; False if the link does not serve.

    The caller has checked the sign-in (`sign_in.factors.remaining`). Raises `UnknownFactor`,
    `LastFactor`, `LastWayIn`, `SignInEnded` and `TooManyAttempts`.
    """
    ctx.limits.count(LIMIT, limit_subject(user.account.id))
    if remaining.read_token(ctx, ctx.db, token) != user.account.id:
        return False
    factors.lock(ctx, user.account)
    kinds: tuple[tuple[str, type[Any]], ...] = (
        (policy.TOTP, TotpFactor),
        (policy.PASSKEY, Passkey),
    )
    for kind, model in kinds:
        removed = ctx.db.scalar(
            delete(model)
            .where(model.user_id == user.account.id, model.id == factor_id)
            .returning(model.id)
            .execution_options(synchronize_session=False)
        )
        if removed is not None:
            factors.removed(ctx, user.account, kind, removed, user.session_id)
            return True
    raise UnknownFactor


def make_codes(ctx: Context, user: SignedInUser, given: ProofFields) -> tuple[str, ...]:
    """New recovery codes in place of the former ones, as they are shown, once.

    Raises `NotOffered`, `FactorRequired`, what `require` raises, and `SignInEnded`.
    """
    if not can_keep_secrets(ctx.settings):
        raise NotOffered
    require(ctx, user, given)
    return factors.new_codes(ctx, user.account, user.session_id)


def ask_after_password(ctx: Context, user: SignedInUser, wanted: bool, given: ProofFields) -> None:
    """Whether a passkey is asked for after the password, too.

    Raises `FactorRequired`, what `require` raises, and `SignInEnded`.
    """
    require(ctx, user, given)
    factors.set_after_password(ctx, user.account, wanted, user.session_id)


def forget_browsers(ctx: Context, user: SignedInUser) -> None:
    """Ask for the second factor again in every browser.

    It needs no proof, and makes the account safer; so it does not count as a change of factors.
    """
    remembered.forget_all(ctx, user.account.id)


def _raise_level(ctx: Context, user: SignedInUser, proved: Proved) -> RenewedSession | None:
    if user.family_id:
        families.confirm(ctx, user.account.id, user.family_id, proved.amr, proved.at)
    if user.browser_session_id:
        return sessions.confirm(ctx, user.account, user.browser_session_id, proved.amr, proved.at)
    return None


def session_id(user: SignedInUser) -> UUID:
    """The id of the present sign-in. Raises `SignInEnded`."""
    if user.session_id is None:
        raise SignInEnded
    return user.session_id


# The applications in which a user has signed in with the password.


USED_WITHIN = timedelta(days=90)


def apps_with_password(ctx: Context, user_id: UUID) -> Sequence[str]:
    """The names of the clients of type ``password`` that the user has used within `USED_WITHIN`.

    Their other sign-ins end, and they have to ask for the second factor from then on.
    """
    since = clock.now() - USED_WITHIN
    query = (
        select(Client.name)
        .join(Family, Family.client_id == Client.id)
        .where(
            Family.user_id == user_id,
            Client.type == "password",
            Client.disabled_at.is_(None),
            or_(Family.used_at > since, Family.rotated_at > since),
        )
        .distinct()
        .order_by(Client.name)
    )
    return ctx.db.scalars(query).all()
