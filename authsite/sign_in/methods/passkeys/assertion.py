"""Sign in with a passkey, alone or as a second factor (Web Authentication Level 3, section 7.2).

Alone it must have verified the user. As a second factor it need not. A use is stored in a
separate transaction, before the sign-in is written: the challenge, which counts once, and the
counter.

That an authenticator has verified the user counts only once it has done so at the registration or
beside another proof (`uv_initialized`, section 4, credential record): the finder of a security key
without a PIN can set one.
"""

from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import update
from sqlalchemy.orm import Session
from structlog import get_logger

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record, record_apart
from authsite.platform.context import Context
from authsite.platform.i18n import _
from authsite.platform.rate_limit.recognized import Owner
from authsite.platform.runtime import clock
from authsite.platform.runtime.counters import LOGINS
from authsite.platform.settings.rules import RelyingParty, relying_party
from authsite.sign_in.credentials import owner_of_user
from authsite.sign_in.factors import notices, policy
from authsite.sign_in.factors.policy import Proved
from authsite.sign_in.factors.state import FactorState
from authsite.sign_in.failure_reasons import FailureReason
from authsite.sign_in.gate import admit
from authsite.sign_in.method import Method, Pending, Target, Verified, Words, Wrong
from authsite.sign_in.methods.totp.method import unlock
from authsite.users.account import EMAIL, PASSKEY_OF_USER, PASSWORD, PROVIDER, Account

from . import registration, stored
from .failures import PasskeyFailure, Refused
from .registration import NO_KEY, Assertion, TooManyPasskeys, parsed, verify_assertion
from .stored import Passkey, StoredPasskey

log = get_logger("authsite.passkeys")

NAME = policy.PASSKEY
_FIRST = frozenset((*PASSWORD, *PROVIDER, *EMAIL))


def options(ctx: Context, bound: str, account: Account | None) -> dict[str, Any] | None:
    """What the browser asks a passkey for, as `PublicKeyCredential.parseRequestOptionsFromJSON`.

    ``bound``: one of the values that `challenges` makes. ``account``: the user whose passkeys
    count; None for a sign-in, where the user chooses one. The result is None where the settings
    allow no passkeys.
    """
    party = relying_party(ctx.settings)
    if party is None:
        return None
    found: dict[str, Any] = {
        "challenge": registration.new(ctx, bound),
        "timeout": int(registration.LIFETIME.total_seconds() * 1000),
        "rpId": party.id,
        "userVerification": "preferred" if account else "required",
    }
    if account:
        found["allowCredentials"] = [
            each.as_json() for each in stored.of_user(ctx, account.id, party.id)
        ]
    return found


def pending_options(ctx: Context, pending: Pending) -> dict[str, Any] | None:
    """The options of a pending login; where a factor must be added, those of a new passkey.

    None if it does not go on with a passkey.
    """
    if NAME in pending.methods:
        return options(ctx, registration.of_pending(pending.id), pending.user)
    if pending.adds_factor and registration.can_add(ctx):
        proved = Proved(pending.amr, pending.auth_at or clock.now())
        # Those of another domain count, too: then another kind of factor can still be added.
        with suppress(TooManyPasskeys):
            return registration.options(ctx, pending.user, pending.id, proved)
    return None


def is_offered(ctx: Context, account: Account | None) -> bool:
    """Whether a sign-in may begin with a passkey, or this user has one."""
    party = relying_party(ctx.settings)
    if party is None or account is None:
        return party is not None
    return bool(stored.of_user(ctx, account.id, party.id))


def verify(
    ctx: Context, target: Target, given: Mapping[str, str], pending: Pending | None
) -> Verified | Wrong | None:
    """The user of the passkey with which the browser made ``credential``.

    ``given``: ``credential``, JSON text of `PublicKeyCredential.toJSON`; for a sign-in of a browser
    ``seed``, that of its CSRF cookie. Unknown, wrong and those of disabled users cost the same.
    Raises `TooManyAttempts`, and `Denied` after a right one.
    """
    party = relying_party(ctx.settings)
    if pending is None:
        return _sign_in(ctx, party, target, given)
    if pending.adds_factor:
        return _enroll(ctx, pending, given)
    done = check(ctx, party, given.get("credential"), pending)
    if isinstance(done, Refused):
        return _wrong(done, "use")
    return admit(ctx, done.account, amr_of(done), done.recognition_version)


WORDS = Words(
    title=_("Use your passkey"),
    way=_("Use a passkey"),
    lead=_("Confirm with your fingerprint, face or screen lock that you are %(address)s."),
    label="",
    wrong=_("This passkey was not accepted. Try again, or use another way."),
)
METHOD = Method(
    NAME,
    PASSKEY_OF_USER,
    offered=is_offered,
    verify=verify,
    page="authsite.login.factor",
    words=WORDS,
)


class Used(NamedTuple):
    """A passkey that was used, and whether the authenticator has verified the user."""

    account: Account
    recognition_version: int
    user_verified: bool


def check(
    ctx: Context, party: RelyingParty | None, text: str | None, pending: Pending
) -> Used | Refused:
    """The passkey of the user who has given another proof.

    A passkey that verifies its user beside that proof for the first time does so from now on; in
    this use it does not count yet. The caller counts the attempt. Call it while the request's
    transaction has written nothing.
    """
    credential = parsed(text)
    if party is None:
        return Refused(PasskeyFailure.NONE)
    if isinstance(credential, Refused):
        return credential
    found = stored.find(ctx, credential["id"], party.id)
    row = found if found is not None and found.account.id == pending.user.id else None
    used = _verify(ctx, party, credential, registration.of_pending(pending.id), row)
    if row is None:
        return Refused(PasskeyFailure.OTHER_USER if found else PasskeyFailure.UNKNOWN)
    if isinstance(used, Refused):
        return used
    if row.disabled_at:
        return Refused(PasskeyFailure.DISABLED)
    beside = _FIRST.intersection(pending.amr if pending.beside is None else pending.beside)
    if refused := _store(ctx, row, used, initializes=bool(beside) and used.user_verified):
        return refused
    verified = used.user_verified and row.uv_initialized
    return Used(row.account, row.recognition_version, verified)


def amr_of(used: Used) -> tuple[str, ...]:
    """What the use proves."""
    return registration.amr_of(used.user_verified)


def _sign_in(
    ctx: Context, party: RelyingParty | None, target: Target, given: Mapping[str, str]
) -> Verified | None:
    read = parsed(given.get("credential"))
    credential = None if isinstance(read, Refused) else read
    row = stored.find(ctx, credential["id"], party.id) if party and credential else None
    if target.client_id:
        bound = registration.of_client(target.client_id)
    else:
        bound = registration.of_browser(given.get("seed", ""))
    id = str(credential["id"]) if credential else ""
    # One that is unknown is counted in the same way.
    owner = (
        owner_of_user(row.account.id, row.recognition_version)
        if row
        else Owner(f"passkey {sha256(id.encode(errors='replace')).hexdigest()}")
    )
    verified = None
    refused: Refused | None = read if isinstance(read, Refused) else Refused(PasskeyFailure.NONE)
    with ctx.limits.second_factor(owner) as attempt:
        if party and credential:
            used = _verify(ctx, party, credential, bound, row)
            refused = _wrong_alone(row, used)
            if row and isinstance(used, Assertion) and refused is None:
                recognition = ctx.limits.recognition(owner)
                factors = FactorState(row.second_factor_at, row.factor_version)
                verified = admit(
                    ctx,
                    row.account,
                    PASSKEY_OF_USER,
                    row.recognition_version,
                    recognition,
                    factors,
                )
                refused = _store(ctx, row, used)
                if refused:
                    verified = None
        attempt.succeeded = verified is not None
    if verified is None:
        LOGINS.add("failed")
        details = _noted(refused, "use") if refused else {}
        record_apart(
            ctx,
            Event.LOGIN_FAILED,
            user_id=row.account.id if row else None,
            client_id=target.client_id,
            details={"reason": _reason(row), **details},
        )
    return verified


def _wrong_alone(row: StoredPasskey | None, used: Assertion | Refused) -> Refused | None:
    """Why a passkey does not sign in alone; None if it does."""
    if row is None:
        return Refused(PasskeyFailure.UNKNOWN)
    if isinstance(used, Refused):
        return used
    if row.disabled_at:
        return Refused(PasskeyFailure.DISABLED)
    if not used.user_verified:
        return Refused(PasskeyFailure.USER_VERIFICATION)
    return None if row.uv_initialized else Refused(PasskeyFailure.UV_NOT_INITIALIZED)


def _noted(refused: Refused, ceremony: str) -> dict[str, str]:
    """The details of an event, which the log has, too."""
    log.warning("passkey_refused", ceremony=ceremony, **refused.details)
    return refused.details


def _wrong(refused: Refused, ceremony: str) -> Wrong:
    return Wrong("invalid_credential", _noted(refused, ceremony))


def _reason(row: StoredPasskey | None) -> FailureReason:
    if row is None:
        return FailureReason.UNKNOWN_PASSKEY
    return FailureReason.DISABLED if row.disabled_at else FailureReason.WRONG_PASSKEY


def _enroll(ctx: Context, pending: Pending, given: Mapping[str, str]) -> Verified | Wrong:
    """A new passkey completes the pending login that asks for a factor; the caller stores it."""
    new = registration.check(ctx, pending.user, pending.id, given.get("credential"))
    if isinstance(new, Refused):
        return _wrong(new, "registration")
    amr = registration.amr_of(new.user_verified)
    return admit(ctx, pending.user, amr, pending.recognition_version)


def _verify(
    ctx: Context,
    party: RelyingParty,
    credential: dict[str, Any],
    bound: str,
    row: StoredPasskey | None,
) -> Assertion | Refused:
    if row is None:
        return verify_assertion(ctx, party, credential, bound, NO_KEY, None)
    used = verify_assertion(ctx, party, credential, bound, row.public_key, row.user_handle)
    # It is decided once, when the passkey is made (section 6.1.3).
    if isinstance(used, Refused) or used.backup_eligible == row.backup_eligible:
        return used
    words = {True: "eligible for backup", False: "not eligible for backup"}
    sent, expected = words[used.backup_eligible], words[row.backup_eligible]
    return Refused(PasskeyFailure.BACKUP, sent, expected)


def _store(
    ctx: Context, row: StoredPasskey, used: Assertion, *, initializes: bool = False
) -> Refused | None:
    """Use the challenge up and store the counter; why not, if one of them says that it is a copy.

    A passkey that is synced between devices has no common counter (section 6.1.1).
    ``initializes``: from now on it counts that the authenticator verifies the user.
    """
    if 0 < row.sign_count >= used.sign_count and not row.backup_eligible:
        _tell_of_clone(ctx, row)
        more = f"more than {row.sign_count}"
        return Refused(PasskeyFailure.COUNTER, str(used.sign_count), more)
    unchanged = [] if row.backup_eligible else [Passkey.sign_count == row.sign_count]
    with ctx.database.transactional.begin() as connection, Session(connection) as db:
        stored_now = (
            update(Passkey)
            .where(Passkey.id == row.passkey_id, *unchanged)
            .values(
                sign_count=used.sign_count,
                backed_up=used.backed_up,
                used_at=clock.now(),
                **({"uv_initialized": True} if initializes else {}),
            )
            .returning(Passkey.id)
            .execution_options(synchronize_session=False)
        )
        if not used.challenge.spend(db) or db.scalar(stored_now) is None:
            db.rollback()
            connection.rollback()
            return Refused(PasskeyFailure.REPLAYED)
        db.flush()
    unlock(ctx, row.account.id)
    return None


def _tell_of_clone(ctx: Context, row: StoredPasskey) -> None:
    """Record it and tell the user, apart: what is refused here writes nothing else."""
    with Session(ctx.database.transactional) as db, db.begin():
        apart = Context(ctx.services, lambda: ctx.request_info, lambda: db)
        details = {"factor": str(row.passkey_id)}
        record(apart, Event.PASSKEY_CLONED, user_id=row.account.id, details=details)
        notices.changed(apart, row.account, "passkey_cloned", None)
