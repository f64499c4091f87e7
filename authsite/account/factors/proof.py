"""What a user must prove before a change of the factors."""

from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select

from authsite.guards.errors import EmailNotConfirmed
from authsite.oauth.models import Family
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.rate_limit import limit_subject
from authsite.platform.runtime import clock
from authsite.sign_in.factors import left, policy
from authsite.sign_in.factors.offers import Proved
from authsite.sign_in.facts import amr_of
from authsite.sign_in.reauthentication import ProofFields, is_recent, require_proof
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.account import SignedInUser
from authsite.users.errors import SignInEnded
from authsite.users.levels import EMAIL, PASSWORD, proved_at
from authsite.users.models import User

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
    if left.has_factor(ctx, user.account.id):
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
