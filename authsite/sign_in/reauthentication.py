"""Prove again who one is, before a sensitive change (OWASP ASVS 7.5.1): one rule for all of them.

A user with a second factor or a passkey has given it at this sign-in, or on the page
`/login/verify`, and the last proof is less than `PROOF_LIFETIME` ago. A user with a password gives
it as well, unless the factors are changed: the proof of one is enough for that, and a user of a
passkey alone need not remember a password to add another. A user with neither proves at a linked
provider to be who they are (purpose ``confirm``), or with a mailed code, in the same browser
session and less than `PROOF_LIFETIME` before; a sign-in does not count.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from sqlalchemy import and_, bindparam, exists, select

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.rate_limit import limit_subject
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.platform.settings.sections.providers import Provider
from authsite.users import identities
from authsite.users.account import AAL2, PASSWORD, SignedInUser, acr_of, is_old, reaches
from authsite.users.caller import caller_of
from authsite.users.models import User

from .errors import (
    PROOF_LIFETIME,
    MissingCurrentPassword,
    MissingMailCode,
    ProofRequired,
    StepUpRequired,
    WrongCurrentPassword,
    WrongMailCode,
)
from .factors.policy import is_administrator
from .methods.mail_code import pages
from .methods.passkeys.stored import Passkey
from .methods.totp.models import TotpFactor
from .sessions.models import BrowserSession


class StoredProof(NamedTuple):
    """The hash of the user's password, and when the session was last confirmed, if ever.

    The others are of the user's second factors: see `FactorState`, and whether there is one.
    """

    password_hash: str | None
    confirmed_at: datetime | None
    recognition_version: int
    second_factor_at: datetime | None
    factor_version: int
    has_totp: bool
    has_passkey: bool

    @property
    def has_factor(self) -> bool:
        """Whether a second factor is asked for. A passkey counts, also one to sign in with alone.

        A factor that no key opens counts as enrolled.
        """
        return self.second_factor_at is not None or self.has_totp or self.has_passkey


STORED_PROOF = PreparedQuery(
    select(
        User.password_hash,
        BrowserSession.confirmed_at,
        User.recognition_version,
        User.second_factor_at,
        User.factor_version,
        exists().where(TotpFactor.user_id == User.id).label("has_totp"),
        exists().where(Passkey.user_id == User.id).label("has_passkey"),
    )
    .outerjoin(
        BrowserSession,
        and_(
            BrowserSession.id == bindparam("session_id"),
            BrowserSession.user_id == User.id,
        ),
    )
    .where(User.id == bindparam("user_id"), User.epoch == bindparam("epoch")),
    StoredProof,
)


class ProofFields(NamedTuple):
    """What a request gives as proof: the current password, and a mailed code."""

    current_password: str | None = None
    mail_code: str | None = None

    @classmethod
    def of(cls, given: object) -> "ProofFields":
        """The fields of a validated body that has them."""
        return cls(getattr(given, "current_password", None), getattr(given, "mail_code", None))


class ProofState(NamedTuple):
    """What a sensitive change asks of a user, for the pages.

    ``step_up``: first a second factor, on another page. ``by_password``: the current password;
    otherwise a confirmation at one of ``providers``, and ``confirmed`` says whether there is one
    that still counts, or a second factor in its place.
    """

    by_password: bool
    confirmed: bool = False
    providers: Sequence[Provider] = ()
    step_up: StepUpRequired | None = None

    @property
    def can_change(self) -> bool:
        """Whether the page can show its forms: what is missing is a field of them."""
        return self.step_up is None and (self.by_password or self.confirmed)


def is_recent(proved_at: datetime | None) -> bool:
    """Whether a proof of that time still counts."""
    return proved_at is not None and clock.now() - proved_at < PROOF_LIFETIME


def proof_state(ctx: Context, user: SignedInUser, *, of_factors: bool = False) -> ProofState:
    """What `require_proof` asks of the user now; ``of_factors``: before a change of the factors."""
    stored = read(ctx, user)
    step_up = missing_step_up(user, stored)
    if stored is None or not (stored.password_hash is None or _is_enough(stored, of_factors)):
        return ProofState(by_password=True, step_up=step_up)
    if stored.has_factor:
        return ProofState(by_password=False, confirmed=True, step_up=step_up)
    found = identities.may_confirm(ctx.settings, identities.list_of(ctx, user.account.id))
    return ProofState(False, is_recent(stored.confirmed_at), found)


def proof(request: Request) -> ProofState:
    """``request.authsite.proof``: what the forms of an account page ask for."""
    return proof_state(request.authsite.ctx, caller_of(request).signed_in_user())


def factor_proof(request: Request) -> ProofState:
    """``request.authsite.factor_proof``: what the forms that change the factors ask for."""
    user = caller_of(request).signed_in_user()
    return proof_state(request.authsite.ctx, user, of_factors=True)


def _nothing() -> None:
    pass


def require_proof(
    ctx: Context,
    user: SignedInUser,
    given: ProofFields,
    check_others: Callable[[], Sequence[FieldError]] = tuple,
    *,
    with_code: bool = False,
    of_factors: bool = False,
    before_writing: Callable[[], Any] = _nothing,
) -> Any:
    """Ask a signed-in user for a proof: the one function that all sensitive changes call.

    A password is limited and recorded. Of a user with a second factor the sign-in is looked at
    first, so that a person with a stolen session cannot guess the password.

    ``with_code``: a mailed code is asked for, too. Without a password it also stands for the
    confirmation at a provider. ``of_factors``: the factors are changed, for which a user with one
    needs no password; a wrong one is refused all the same. ``check_others`` returns the errors of
    the other fields, so that one response has all errors. It runs after the password was checked.
    ``before_writing`` does what takes time or counts a limit, which must not wait for the
    transaction of this request: it runs after the proof, and before a mailed code is used up with a
    write. Returns its result.

    Call this function before the request has written anything. Raises `StepUpRequired` for a user
    with a second factor whose sign-in is too old or has none; `MissingCurrentPassword`;
    `WrongCurrentPassword` (422 on ``current_password``), after which the audit row is kept;
    `ProofRequired` for a user with neither who has not confirmed; `WrongMailCode`;
    `ValidationFailed` if only other fields are wrong; `TooManyAttempts` before any hash, and
    `HashCapacityExceeded`.
    """
    stored, password = read(ctx, user), given.current_password
    if error := missing_step_up(user, stored):
        raise error
    if stored is not None and stored.password_hash is None:
        if not stored.has_factor and not is_recent(stored.confirmed_at):
            if given.mail_code is None:
                raise ProofRequired
            with_code = True
    elif password is None and not (stored and _is_enough(stored, of_factors)):
        raise MissingCurrentPassword([*_missing_code(given, with_code), *check_others()])
    elif password is not None and not check_password(ctx, user, password, stored):
        raise WrongCurrentPassword(check_others())
    if others := [*_missing_code(given, with_code), *check_others()]:
        raise ValidationFailed(details=others)
    if with_code and not pages.is_right(ctx, user, given.mail_code or ""):
        raise WrongMailCode
    prepared = before_writing()
    # Last: a refused request does not use the code up.
    if with_code and not pages.use_up(ctx, user):
        raise WrongMailCode
    return prepared


def missing_fields(
    ctx: Context, user: SignedInUser, given: ProofFields, *, of_factors: bool = False
) -> Sequence[FieldError]:
    """The error of a current password that is asked for and missing: nothing is hashed or counted.

    For a request that is refused for its other fields. None for a user who has to prove a factor
    first, which is another page or response.
    """
    stored = read(ctx, user)
    if given.current_password is not None or missing_step_up(user, stored):
        return ()
    if stored and (stored.password_hash is None or _is_enough(stored, of_factors)):
        return ()
    return MissingCurrentPassword().details


def _is_enough(stored: StoredProof, of_factors: bool) -> bool:
    """Whether a recent proof of a second factor, which was asked for before, is all it takes."""
    return of_factors and stored.has_factor


def _missing_code(given: ProofFields, with_code: bool) -> Sequence[FieldError]:
    return MissingMailCode().details if with_code and not given.mail_code else ()


def missing_step_up(user: SignedInUser, stored: StoredProof | None) -> StepUpRequired | None:
    """What a user with a second factor lacks; None if nothing, and for all others."""
    if stored is None or not stored.has_factor:
        return None
    low = not reaches(acr_of(user.proved_by), AAL2)
    if low or is_old(user.auth_at, PROOF_LIFETIME, clock.now()):
        return StepUpRequired(AAL2 if low else None)
    return None


def signed_in_as_asked(
    user: SignedInUser, stored: StoredProof | None
) -> StepUpRequired | Literal["password"] | None:
    """What a sign-in of the last minutes lacks of all that one to this account takes.

    The password, and a second factor where one is asked for, or of an administrator: the password
    may be one that a mailed link has set. None: nothing is missing.
    """
    asked = stored is not None and (
        stored.second_factor_at is not None or is_administrator(user.account)
    )
    if stored is None or (stored.password_hash and not set(PASSWORD) <= set(user.proved_by)):
        return "password"
    low = asked and not reaches(acr_of(user.proved_by), AAL2)
    if low or is_old(user.auth_at, PROOF_LIFETIME, clock.now()):
        return StepUpRequired(AAL2 if low else None)
    return None


def read(ctx: Context, user: SignedInUser) -> StoredProof | None:
    """What is stored of the user; None if the epoch is not the user's any more.

    Then no password is right.
    """
    return STORED_PROOF.one(
        ctx.database,
        session_id=user.browser_session_id,
        user_id=user.account.id,
        epoch=user.account.epoch,
    )


def check_password(
    ctx: Context, user: SignedInUser, password: str, stored: StoredProof | None
) -> bool:
    """Whether this is the current password: limited, and a wrong one is recorded.

    Raises `TooManyAttempts` before any hash, and `HashCapacityExceeded`.
    """
    with ctx.limits.reauthentication(
        limit_subject(user.account.id), str(user.session_id)
    ) as attempt:
        attempt.succeeded = ctx.passwords.check(password, stored.password_hash if stored else None)
    if attempt.succeeded:
        return True
    details = {"session": str(user.session_id)}
    record(ctx, Event.REAUTHENTICATION_FAILED, user_id=user.account.id, details=details)
    if attempt.locked:
        record(ctx, Event.REAUTHENTICATION_LOCKED, user_id=user.account.id, details=details)
    return False
