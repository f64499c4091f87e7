"""Step-up: a signed-in user proves again, or with a further factor, to be who they are.

A page or a change needs a level (``acr``), or a proof that is not too old. Only what is missing is
asked for: for the level a second factor; for the time everything that the level rests on, and the
second factor wherever one is set. A proof of everything becomes what the sign-in rests on, and its
time; a further factor leaves the time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from authsite.platform.context import Context
from authsite.platform.runtime import clock
from authsite.users.account import (
    AAL1,
    AAL2,
    EMAIL,
    LEVELS,
    PASSWORD,
    PROMPTED,
    PROVIDER,
    UNDATED,
    SignedInUser,
    acr_of,
    is_old,
    reaches,
)
from authsite.users.errors import SignInEnded

from . import gate, reauthentication
from .credentials import owner_of_user
from .errors import (
    PROOF_LIFETIME,
    MissingCurrentPassword,
    ProofRequired,
    WrongCurrentPassword,
    WrongMailCode,
)
from .factors.pages import FactorMissing, WrongFactor
from .factors.policy import PASSKEY, is_asked
from .factors.state import FactorState
from .method import METHODS, Pending, Target, Wrong, second_factors, words_of
from .methods.mail_code import pages
from .reauthentication import StoredProof
from .sessions import service as proved
from .sessions.service import RenewedSession

COMING_BACK = timedelta(minutes=1)
"""For how long a confirmation at a provider counts, however recent a proof must be."""
_FIRST = frozenset((*PASSWORD, *PROVIDER, *EMAIL))


class Wanted(NamedTuple):
    """What a page or change needs: a level, and how old the last proof may be at most."""

    acr: str | None = None
    max_age: timedelta | None = None


class Given(NamedTuple):
    """What the user gives: the password, and what the ``method`` of a second factor reads."""

    current_password: str | None = None
    method: str | None = None
    factor: Mapping[str, str] = {}
    mail_code: str | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """What a step-up asks for.

    ``first``: a first proof, which is the password (``by_password``), or without one a mailed code,
    or a confirmation at a provider, unless it was ``confirmed`` at that moment.
    ``methods``: the second factors that are enough; none if none is asked for. ``alone``: those
    that need no first proof beside. ``enroll``: the level cannot be reached with what the user has.
    """

    level: str = AAL1
    first: bool = False
    by_password: bool = False
    confirmed: datetime | None = None
    methods: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    enroll: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether the sign-in is enough."""
        return not (self.first or self.methods or self.enroll)


def find_missing(ctx: Context, user: SignedInUser, wanted: Wanted) -> Missing:
    """What the sign-in lacks. Raises `SignInEnded` if the user's epoch was raised."""
    return _find(ctx, user, _stored(ctx, user), wanted)


def prove(ctx: Context, user: SignedInUser, wanted: Wanted, given: Given) -> RenewedSession | None:
    """Check what is missing, and write it: the new key of the session; None if nothing is.

    The first proof is checked first: a right factor is not used up beside a wrong one. Raises
    `MissingCurrentPassword` and `FactorMissing`; `WrongCurrentPassword` and `WrongFactor`, after
    which the audit row is kept; `WrongMailCode`; `ProofRequired` for a user without a password who
    has neither confirmed at a provider nor given a mailed code; `TooManyAttempts` before any
    check, and `SignInEnded`.
    """
    stored = _stored(ctx, user)
    missing = _find(ctx, user, stored, wanted)
    if missing.is_nothing or missing.enroll:
        return None
    first, second = _check(ctx, user, stored, missing, given)
    by_mail = first == EMAIL
    # Last: a refused request does not use the code up.
    if by_mail and not pages.use_up(ctx, user):
        raise WrongMailCode
    amr, auth_at = _outcome(user, missing, first, second)
    if user.browser_session_id is None:
        raise SignInEnded
    renewed = proved.step_up(
        ctx,
        user.account,
        user.browser_session_id,
        amr,
        auth_at,
        auth_at if by_mail else stored.confirmed_at,
    )
    if renewed is None:
        raise SignInEnded
    if second and given.method and (after := METHODS.of(ctx.services)[given.method].after):
        after(ctx, user.account)
    return renewed


def pending_of(
    user: SignedInUser,
    stored: StoredProof,
    methods: tuple[str, ...],
    beside: tuple[str, ...] = (),
) -> Pending:
    """What the methods read: the user, and the session in place of a pending login.

    It is not stored, and has no key. ``beside``: the password, if it was given now.
    """
    if user.browser_session_id is None:
        raise SignInEnded
    return Pending(
        key="",
        account=user.account,
        recognition_version=stored.recognition_version,
        amr=_first_of(user),
        methods=methods,
        target=Target(),
        factors=FactorState(stored.second_factor_at, stored.factor_version),
        id=user.browser_session_id,
        beside=beside,
    )


def pending_to_show(ctx: Context, user: SignedInUser, missing: Missing) -> Pending:
    """`pending_of` for the page, which makes the challenge of a passkey."""
    return pending_of(user, _stored(ctx, user), (*missing.methods, *missing.alone))


def _stored(ctx: Context, user: SignedInUser) -> StoredProof:
    stored = reauthentication.read(ctx, user)
    if stored is None:
        raise SignInEnded
    return stored


def _find(ctx: Context, user: SignedInUser, stored: StoredProof, wanted: Wanted) -> Missing:
    now, acr = clock.now(), acr_of(user.proved_by)
    level = wanted.acr or AAL1
    too_old = wanted.max_age is not None and is_old(user.auth_at, wanted.max_age, now)
    if not too_old and reaches(acr, level):
        return Missing()
    if too_old:
        level = max(level, acr, key=LEVELS.index)
    # A sign-in would ask for it. So a remembered browser, or a sign-in of before, does not pass.
    if is_asked(ctx.settings, stored.second_factor_at, now):
        level = max(level, AAL2, key=LEVELS.index)
    offered = second_factors(ctx, user.account) if stored.has_factor or level != AAL1 else ()
    first = too_old or not _first_of(user)
    enough = tuple(each.name for each in offered if reaches(acr_of((*PASSWORD, *each.amr)), level))
    missing = Missing(
        level=level,
        first=first,
        by_password=first and stored.password_hash is not None,
        methods=enough if level != AAL1 else (),
        alone=tuple(name for name in enough if name == PASSKEY),
        enroll=level != AAL1 and not enough,
    )
    if not first or missing.by_password or missing.enroll:
        return missing
    # A user without a password confirms on another page.
    max_age = PROOF_LIFETIME
    if wanted.max_age is not None:  # the way back from the provider takes a moment
        max_age = min(PROOF_LIFETIME, max(wanted.max_age, COMING_BACK))
    too_long_ago = is_old(stored.confirmed_at, max_age, now)
    return replace(missing, confirmed=None if too_long_ago else stored.confirmed_at)


def _check(
    ctx: Context, user: SignedInUser, stored: StoredProof, missing: Missing, given: Given
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ``amr`` of the first proof, whose mailed code is not used up yet, and of the second one.

    No first proof beside a second one that is everything.
    """
    if given.method in missing.alone and given.current_password is None:
        second = _check_second(ctx, user, stored, missing, given)
        if _is_everything(second):
            return (), second
        return _check_first(ctx, user, stored, missing, given), second
    first = _check_first(ctx, user, stored, missing, given)
    beside = first if first == PASSWORD else ()
    second = _check_second(ctx, user, stored, missing, given, beside)
    return (() if _is_everything(second) else first), second


def _check_first(
    ctx: Context, user: SignedInUser, stored: StoredProof, missing: Missing, given: Given
) -> tuple[str, ...]:
    """The ``amr`` of the first proof; none if none is asked for."""
    if not missing.first:
        return ()
    if not missing.by_password:
        if given.mail_code is not None:
            if not pages.is_right(ctx, user, given.mail_code):
                raise WrongMailCode
            return EMAIL
        if missing.confirmed is None:
            raise ProofRequired
        return PROVIDER
    if given.current_password is None:
        raise MissingCurrentPassword
    if not reauthentication.check_password(ctx, user, given.current_password, stored):
        raise WrongCurrentPassword
    return PASSWORD


def _check_second(
    ctx: Context,
    user: SignedInUser,
    stored: StoredProof,
    missing: Missing,
    given: Given,
    beside: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """The ``amr`` of the second proof; none if none is asked for, nor given alone."""
    if not missing.methods and given.method not in missing.alone:
        return ()
    usable = (*missing.methods, *missing.alone)
    if given.method not in usable or not given.factor:
        raise FactorMissing(words_of(ctx, given.method))
    pending = pending_of(user, stored, usable, beside)
    owner = owner_of_user(user.account.id, stored.recognition_version)
    subject = pages.factor_subject(user)
    verified = gate.check(ctx, pending, given.method, given.factor, owner, subject)
    if isinstance(verified, Wrong):
        raise WrongFactor(words_of(ctx, given.method), verified.code)
    return verified.amr


def _is_everything(amr: tuple[str, ...]) -> bool:
    """Whether the proof is a passkey that has verified the user."""
    return reaches(acr_of(amr), AAL2)


def _outcome(
    user: SignedInUser, missing: Missing, first: tuple[str, ...], second: tuple[str, ...]
) -> tuple[tuple[str, ...], datetime]:
    """What the sign-in rests on now, and since when: never the union of two sign-ins."""
    now = clock.now()
    if _is_everything(second):
        return second, now
    if not missing.first:
        return (*_first_of(user), *second), user.auth_at or now
    at = missing.confirmed if first == PROVIDER else None
    return (*first, *second), at or now


def _first_of(user: SignedInUser) -> tuple[str, ...]:
    of_first = (*_FIRST, *UNDATED, *PROMPTED)
    return tuple(each for each in user.proved_by if each in of_first)
