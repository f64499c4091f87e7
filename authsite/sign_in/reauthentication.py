"""Prove again who one is, before a sensitive change (OWASP ASVS 7.5.1): one rule for all of them.

A user with a password gives it. A user without one proves at a linked provider to be who they are
(purpose ``confirm``), in the same browser session and less than `PROOF_LIFETIME` before; a sign-in
does not count.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import and_, bindparam, select

from authsite.context import Context
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.db import PreparedQuery
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.rate_limit import limit_subject
from authsite.platform.runtime import clock
from authsite.platform.settings.sections.providers import Provider
from authsite.request_state import Request
from authsite.users.account import SignedInUser
from authsite.users.caller import caller_of
from authsite.users.identities import service as identities
from authsite.users.models import User

from .errors import PROOF_LIFETIME, MissingCurrentPassword, ProofRequired, WrongCurrentPassword
from .sessions.models import BrowserSession


class StoredProof(NamedTuple):
    """The hash of the user's password, and when the session was last confirmed, if ever."""

    password_hash: str | None
    confirmed_at: datetime | None


STORED_PROOF = PreparedQuery(
    select(User.password_hash, BrowserSession.confirmed_at)
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

    ``by_password``: the current password; otherwise a confirmation at one of ``providers``, and
    ``confirmed`` says whether there is one that still counts.
    """

    by_password: bool
    confirmed: bool = False
    providers: Sequence[Provider] = ()

    @property
    def can_change(self) -> bool:
        """Whether the page can show its forms: what is missing is a field of them."""
        return self.by_password or self.confirmed


def is_recent(proved_at: datetime | None) -> bool:
    """Whether a proof of that time still counts."""
    return proved_at is not None and clock.now() - proved_at < PROOF_LIFETIME


def proof_state(ctx: Context, user: SignedInUser) -> ProofState:
    """What `require_proof` asks of the user now."""
    stored = _read(ctx, user)
    if stored is None or stored.password_hash is not None:
        return ProofState(by_password=True)
    found = identities.may_confirm(ctx.settings, identities.list_of(ctx, user.account.id))
    return ProofState(False, is_recent(stored.confirmed_at), found)


def proof(request: Request) -> ProofState:
    """``request.authsite.proof``: what the forms of an account page ask for."""
    return proof_state(request.authsite.ctx, caller_of(request).signed_in_user())


def require_proof(
    ctx: Context,
    user: SignedInUser,
    given: ProofFields,
    check_others: Callable[[], Sequence[FieldError]] = tuple,
) -> None:
    """Ask a signed-in user for a proof; a password is limited and recorded.

    ``check_others`` returns the errors of
    the other fields, so that one response has all errors. It runs after the password was checked.
    Call this function before the request has written anything. Raises `MissingCurrentPassword`;
    `WrongCurrentPassword` (422 on ``current_password``), after which the audit row is kept;
    `ProofRequired` for a user without password who has not confirmed; `ValidationFailed` if only
    other fields are wrong; `TooManyAttempts` before any hash, and `HashCapacityExceeded`.
    """
    stored, password = _read(ctx, user), given.current_password
    if stored is not None and stored.password_hash is None:
        if not is_recent(stored.confirmed_at):
            raise ProofRequired
    elif password is None:
        raise MissingCurrentPassword(check_others())
    elif not _check_password(ctx, user, password, stored):
        raise WrongCurrentPassword(check_others())
    if others := check_others():
        raise ValidationFailed(details=others)


def _read(ctx: Context, user: SignedInUser) -> StoredProof | None:
    """None if the epoch is not the user's any more: then no password is right."""
    return STORED_PROOF.one(
        ctx.database,
        session_id=user.browser_session_id,
        user_id=user.account.id,
        epoch=user.account.epoch,
    )


def _check_password(
    ctx: Context, user: SignedInUser, password: str, stored: StoredProof | None
) -> bool:
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
