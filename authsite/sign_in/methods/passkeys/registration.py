"""Add a passkey (Web Authentication Level 3, section 7.1)."""

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from authsite.platform.context import Context
from authsite.platform.runtime import clock
from authsite.platform.settings.relying_party import relying_party
from authsite.sign_in.factors import service as factors
from authsite.sign_in.factors import state
from authsite.sign_in.factors.errors import NotOffered
from authsite.sign_in.factors.names import PASSKEY
from authsite.sign_in.factors.offers import Proved
from authsite.sign_in.factors.service import Added
from authsite.users import levels
from authsite.users.account import Account

from . import challenges, stored
from .credentials import NewCredential, parsed, verify_registration
from .diagnosis import ALGORITHMS
from .errors import InvalidCredential, TooManyPasskeys
from .failures import PasskeyFailure, Refused
from .models import Passkey
from .names import chosen, name_of

MAX_PASSKEYS = 20


class Registered(NamedTuple):
    """A new passkey, and what follows from it.

    ``proved``: what the user had proved before; ``amr``: what the passkey adds to that.
    """

    passkey: Passkey
    added: Added
    proved: Proved
    amr: tuple[str, ...]


def can_add(ctx: Context) -> bool:
    """Whether the settings allow new passkeys."""
    return PASSKEY in ctx.settings.factors and relying_party(ctx.settings) is not None


def options(ctx: Context, account: Account, bound_id: UUID, proved: Proved) -> dict[str, Any]:
    """What the browser makes a passkey for, as `PublicKeyCredential.parseCreationOptionsFromJSON`.

    ``bound_id``: of the session, whose user has just given a proof, or of the pending login that
    asks for a factor. The challenge stands for what was ``proved``, until the factors of the user
    change. Raises `NotOffered` and
    `TooManyPasskeys`.
    """
    party = relying_party(ctx.settings)
    if party is None or not can_add(ctx):
        raise NotOffered
    version = state.read(ctx, account.id).factor_version
    existing = stored.of_user(ctx, account.id, party.id)
    if stored.count(ctx, account.id) >= MAX_PASSKEYS:
        raise TooManyPasskeys
    handle = stored.handle_of(ctx, account.id) or _text(secrets.token_bytes(challenges.HANDLE_SIZE))
    return {
        "rp": {"id": party.id, "name": ctx.settings.site_name},
        "user": {
            "id": handle,
            "name": account.email,
            "displayName": account.name or account.email,
        },
        "challenge": challenges.new_registration(
            ctx, bound_id, urlsafe_b64decode(f"{handle}="), version, proved
        ),
        "pubKeyCredParams": [{"type": "public-key", "alg": each} for each in ALGORITHMS],
        "timeout": int(challenges.LIFETIME.total_seconds() * 1000),
        "excludeCredentials": [each.as_json() for each in existing],
        "authenticatorSelection": {
            "residentKey": "preferred",
            "requireResidentKey": False,
            "userVerification": "preferred",
        },
        "attestation": "none",
    }


def check(
    ctx: Context, account: Account, bound_id: UUID, credential: str | None
) -> NewCredential | Refused:
    """The new passkey that the browser made for `options`.

    ``credential``: JSON text of `PublicKeyCredential.toJSON`. It stores nothing.
    """
    party, given = relying_party(ctx.settings), parsed(credential)
    if party is None or not can_add(ctx):
        return Refused(PasskeyFailure.NONE)
    if isinstance(given, Refused):
        return given
    return verify_registration(ctx, party, given, bound_id)


def register(
    ctx: Context,
    account: Account,
    bound_id: UUID,
    credential: str | None,
    name: str | None = None,
    *,
    session_id: UUID | None,
) -> Registered:
    """Store the passkey that the browser made for `options`.

    ``name``: what the user calls it; by default `name_of`. ``session_id``: the sign-in that adds
    it, None at a sign-in that must add a factor. To end the other sign-ins is left to the caller.
    Raises `InvalidCredential`, also for a challenge or a credential id that was used before, and
    for a challenge of before the latest change of the factors; `NotOffered`, `TooManyPasskeys`,
    `SignInEnded`, and what `names.chosen` raises.
    """
    party = relying_party(ctx.settings)
    if party is None or not can_add(ctx):
        raise NotOffered
    called = chosen(name) if name and name.strip() else None
    new = check(ctx, account, bound_id, credential)
    if isinstance(new, Refused):
        raise InvalidCredential(new, account.id)
    factors.lock(ctx, account)
    if not new.challenge.spend(ctx.db):
        raise InvalidCredential(Refused(PasskeyFailure.REPLAYED), account.id)
    found = list(ctx.db.scalars(select(Passkey.user_handle).where(Passkey.user_id == account.id)))
    if len(found) >= MAX_PASSKEYS:
        raise TooManyPasskeys
    # Of two at once the second one tries again: another proof may be needed now.
    if state.locked_version(ctx, account.id) != new.challenge.factor_version:
        raise InvalidCredential(Refused(PasskeyFailure.CHANGED), account.id)
    handle = _text(new.challenge.handle)
    if found and handle not in found:
        raise InvalidCredential(Refused(PasskeyFailure.CHANGED), account.id)
    row = Passkey(
        id=uuid4(),
        user_id=account.id,
        credential_id=new.credential_id,
        public_key=new.public_key,
        user_handle=handle,
        rp_id=party.id,
        sign_count=new.sign_count,
        aaguid=new.aaguid,
        transports=new.transports,
        backup_eligible=new.backup_eligible,
        backed_up=new.backed_up,
        uv_initialized=new.user_verified,
        name=called or name_of(new.aaguid, ctx.request_info.agent),
        created_at=clock.now(),
        used_at=None,
    )
    _insert(ctx, row)
    added = factors.added(ctx, account, PASSKEY, row.id, session_id)
    return Registered(row, added, new.challenge.proved, amr_of(new.user_verified))


def amr_of(user_verified: bool) -> tuple[str, ...]:
    """What a passkey proves, with or without user verification."""
    return levels.PASSKEY_OF_USER if user_verified else levels.PASSKEY


def _insert(ctx: Context, row: Passkey) -> None:
    taken = select(Passkey.id).where(Passkey.credential_id == row.credential_id)
    if ctx.db.scalar(taken) is not None:
        raise InvalidCredential(Refused(PasskeyFailure.TAKEN), row.user_id)
    try:
        with ctx.db.begin_nested():
            ctx.db.add(row)
    except IntegrityError:
        raise InvalidCredential(Refused(PasskeyFailure.TAKEN), row.user_id) from None


def _text(handle: bytes) -> str:
    """In base64url without padding."""
    return urlsafe_b64encode(handle).decode().rstrip("=")
