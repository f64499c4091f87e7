"""Add, replace and remove the second factors of a signed-in user, and make new recovery codes."""

from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import delete

from authsite.account.service import end_others as end_other_sign_ins
from authsite.oauth import families
from authsite.platform.context import Context
from authsite.platform.rate_limit import limit_subject
from authsite.sign_in.factors import names, remaining, remembered
from authsite.sign_in.factors import service as factors
from authsite.sign_in.factors.errors import NotOffered, UnknownFactor, WrongFirstCode
from authsite.sign_in.factors.offers import Proved, can_keep_secrets
from authsite.sign_in.method import Wrong
from authsite.sign_in.methods.passkeys.models import Passkey
from authsite.sign_in.methods.totp import enrollment as totp
from authsite.sign_in.methods.totp.enrollment import Enrollment
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.sign_in.reauthentication import ProofFields
from authsite.sign_in.sessions import service as sessions
from authsite.sign_in.sessions.service import RenewedSession
from authsite.users.account import SignedInUser
from authsite.users.errors import SignInEnded
from authsite.users.levels import TOTP

from . import proof


class Changed(NamedTuple):
    """What adding a factor led to: new recovery codes, and the new key of a browser session."""

    recovery_codes: tuple[str, ...] | None = None
    renewed: RenewedSession | None = None


def begin_totp(ctx: Context, user: SignedInUser, given: ProofFields) -> Enrollment:
    """A new authenticator app, which replaces the present one when a code of it is confirmed.

    Raises `NotOffered`, and what `proof.require_for_adding` raises.
    """
    if not totp.is_offered(ctx):
        raise NotOffered
    proved = proof.require_for_adding(ctx, user, given)
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
    added = factors.added(ctx, account, names.TOTP, id, present, replaced=replaced)
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

    Raises `UnknownFactor`, `LastFactor`, what `proof.require` raises, and `SignInEnded`.
    """
    proof.require(ctx, user, given)
    factors.lock(ctx, user.account)
    removed = ctx.db.scalar(
        delete(TotpFactor)
        .where(TotpFactor.user_id == user.account.id)
        .returning(TotpFactor.id)
        .execution_options(synchronize_session=False)
    )
    if removed is None:
        raise UnknownFactor
    factors.removed(ctx, user.account, names.TOTP, removed, user.session_id)


def remove_remaining(ctx: Context, user: SignedInUser, token: str, factor_id: UUID) -> bool:
    """Remove a factor or passkey that a recovery has left; False if the link does not serve.

    The caller has checked the sign-in (`sign_in.factors.remaining`). Raises `UnknownFactor`,
    `LastFactor`, `LastWayIn`, `SignInEnded` and `TooManyAttempts`.
    """
    ctx.limits.count(proof.LIMIT, limit_subject(user.account.id))
    if remaining.read_token(ctx, ctx.db, token) != user.account.id:
        return False
    factors.lock(ctx, user.account)
    kinds: tuple[tuple[str, type[Any]], ...] = (
        (names.TOTP, TotpFactor),
        (names.PASSKEY, Passkey),
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

    Raises `NotOffered`, `FactorRequired`, what `proof.require` raises, and `SignInEnded`.
    """
    if not can_keep_secrets(ctx.settings):
        raise NotOffered
    proof.require(ctx, user, given)
    return factors.new_codes(ctx, user.account, user.session_id)


def ask_after_password(ctx: Context, user: SignedInUser, wanted: bool, given: ProofFields) -> None:
    """Whether a passkey is asked for after the password, too.

    Raises `FactorRequired`, what `proof.require` raises, and `SignInEnded`.
    """
    proof.require(ctx, user, given)
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
