"""Sign in with a passkey, alone or as a second factor (Web Authentication Level 3, section 7.2).

Alone it must have verified the user. As a second factor it need not. A use is stored in a
separate transaction, before the sign-in is written: the challenge, which counts once, and the
counter.
"""

from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.orm import Session

from authsite.platform.audit.events import Event
from authsite.platform.audit.failure_reasons import FailureReason
from authsite.platform.audit.service import record, record_apart
from authsite.platform.context import Context
from authsite.platform.i18n import _
from authsite.platform.rate_limit.recognized import Owner
from authsite.platform.runtime import clock
from authsite.platform.runtime.counters import LOGINS
from authsite.platform.settings.relying_party import RelyingParty, relying_party
from authsite.sign_in.credentials import owner_of_user
from authsite.sign_in.factors import names, notices
from authsite.sign_in.factors.offers import Proved
from authsite.sign_in.factors.state import FactorState
from authsite.sign_in.gate import admit
from authsite.sign_in.method import Method, Pending, Target, Verified, Words, Wrong
from authsite.sign_in.methods.totp.method import unlock
from authsite.users.account import Account
from authsite.users.levels import PASSKEY_OF_USER

from . import challenges, registration, stored
from .credentials import NO_KEY, Assertion, parsed, verify_assertion
from .errors import TooManyPasskeys
from .models import Passkey
from .stored import StoredPasskey

NAME = names.PASSKEY
_WRONG = Wrong("invalid_credential")


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
        "challenge": challenges.new(ctx, bound),
        "timeout": int(challenges.LIFETIME.total_seconds() * 1000),
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
        return options(ctx, challenges.of_pending(pending.id), pending.user)
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
    bound = challenges.of_pending(pending.id)
    done = check(ctx, party, given.get("credential"), bound, pending.user.id)
    if done is None:
        return _WRONG
    row, used = done
    return admit(ctx, row.account, registration.amr_of(used.user_verified), row.recognition_version)


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


def check(
    ctx: Context,
    party: RelyingParty | None,
    text: str | None,
    bound: str,
    user_id: UUID,
) -> tuple[StoredPasskey, Assertion] | None:
    """The passkey and its use, for the user who has given another proof; None if it is wrong.

    The caller counts the attempt. Call it while the request's transaction has written nothing.
    """
    credential = parsed(text)
    if party is None or credential is None:
        return None
    row = stored.find(ctx, credential["id"], party.id)
    if row is not None and row.account.id != user_id:
        row = None
    used = _verify(ctx, party, credential, bound, row)
    if row is None or used is None or row.disabled_at or not _store(ctx, row, used):
        return None
    return row, used


def _sign_in(
    ctx: Context, party: RelyingParty | None, target: Target, given: Mapping[str, str]
) -> Verified | None:
    credential = parsed(given.get("credential"))
    row = stored.find(ctx, credential["id"], party.id) if party and credential else None
    if target.client_id:
        bound = challenges.of_client(target.client_id)
    else:
        bound = challenges.of_browser(given.get("seed", ""))
    id = str(credential["id"]) if credential else ""
    # One that is unknown is counted in the same way.
    owner = (
        owner_of_user(row.account.id, row.recognition_version)
        if row
        else Owner(f"passkey {sha256(id.encode(errors='replace')).hexdigest()}")
    )
    verified = None
    with ctx.limits.second_factor(owner) as attempt:
        if party and credential:
            used = _verify(ctx, party, credential, bound, row)
            if row and used and used.user_verified and not row.disabled_at:
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
                if not _store(ctx, row, used):
                    verified = None
        attempt.succeeded = verified is not None
    if verified is None:
        LOGINS.add("failed")
        record_apart(
            ctx,
            Event.LOGIN_FAILED,
            user_id=row.account.id if row else None,
            client_id=target.client_id,
            details={"reason": _reason(row)},
        )
    return verified


def _reason(row: StoredPasskey | None) -> FailureReason:
    if row is None:
        return FailureReason.UNKNOWN_PASSKEY
    return FailureReason.DISABLED if row.disabled_at else FailureReason.WRONG_PASSKEY


def _enroll(ctx: Context, pending: Pending, given: Mapping[str, str]) -> Verified | Wrong:
    """A new passkey completes the pending login that asks for a factor; the caller stores it."""
    new = registration.check(ctx, pending.user, pending.id, given.get("credential"))
    if new is None:
        return _WRONG
    amr = registration.amr_of(new.user_verified)
    return admit(ctx, pending.user, amr, pending.recognition_version)


def _verify(
    ctx: Context,
    party: RelyingParty,
    credential: dict[str, Any],
    bound: str,
    row: StoredPasskey | None,
) -> Assertion | None:
    if row is None:
        verify_assertion(ctx, party, credential, bound, NO_KEY, None)
        return None
    used = verify_assertion(ctx, party, credential, bound, row.public_key, row.user_handle)
    # It is decided once, when the passkey is made (section 6.1.3).
    return used if used and used.backup_eligible == row.backup_eligible else None


def _store(ctx: Context, row: StoredPasskey, used: Assertion) -> bool:
    """Use the challenge up and store the counter; False if one of them says that it is a copy.

    A passkey that is synced between devices has no common counter (section 6.1.1).
    """
    if 0 < row.sign_count >= used.sign_count and not row.backup_eligible:
        _tell_of_clone(ctx, row)
        return False
    unchanged = [] if row.backup_eligible else [Passkey.sign_count == row.sign_count]
    with ctx.database.transactional.begin() as connection, Session(connection) as db:
        stored_now = (
            update(Passkey)
            .where(Passkey.id == row.passkey_id, *unchanged)
            .values(sign_count=used.sign_count, backed_up=used.backed_up, used_at=clock.now())
            .returning(Passkey.id)
            .execution_options(synchronize_session=False)
        )
        if not used.challenge.spend(db) or db.scalar(stored_now) is None:
            db.rollback()
            connection.rollback()
            return False
        db.flush()
    unlock(ctx, row.account.id)
    return True


def _tell_of_clone(ctx: Context, row: StoredPasskey) -> None:
    """Record it and tell the user, apart: what is refused here writes nothing else."""
    with Session(ctx.database.transactional) as db, db.begin():
        apart = Context(ctx.services, lambda: ctx.request_info, lambda: db)
        details = {"factor": str(row.passkey_id)}
        record(apart, Event.PASSKEY_CLONED, user_id=row.account.id, details=details)
        notices.changed(apart, row.account, "passkey_cloned", None)
