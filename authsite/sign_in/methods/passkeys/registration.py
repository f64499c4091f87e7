"""Add a passkey (Web Authentication Level 3, section 7.1)."""

import json
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from authsite.platform import single_use
from authsite.platform.audit.events import Event
from authsite.platform.audit.excerpts import excerpt
from authsite.platform.context import Context
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.http.errors import ApiError, FieldError, ValidationFailed
from authsite.platform.i18n import _
from authsite.platform.runtime import clock
from authsite.platform.settings.rules import RelyingParty, relying_party
from authsite.sign_in.factors import service as factors
from authsite.sign_in.factors import state
from authsite.sign_in.factors.errors import NotOffered
from authsite.sign_in.factors.policy import PASSKEY, Proved
from authsite.sign_in.factors.service import Added
from authsite.users import account as levels
from authsite.users.account import Account

from . import failures as diagnosis
from . import stored
from .failures import ALGORITHMS, PasskeyFailure, PasskeyRefused, Refused
from .stored import Passkey, chosen, name_of

# The challenges of passkeys: sealed values that cost no row until one succeeds.
#
# A challenge lasts ten minutes, and is bound to its purpose and to what asked for it: the browser
# (the seed of its CSRF cookie), a client, a pending login or a signed-in session. A success uses
# it up (Web Authentication Level 3, section 13.4.3).


PURPOSE = "passkey challenge"
LIFETIME = timedelta(minutes=10)
RENEW_AFTER = timedelta(minutes=9)
"""After which a page asks for another one, while it waits for the user to choose a passkey."""
HANDLE_SIZE = 32  # bytes

_FORMAT = SealedFormat("16s")  # a nonce
# Also the user handle, `factor_version`, and the proof before: its time and its ``amr``.
_REGISTRATION = SealedFormat("16s32sIQ64p")


class Challenge(NamedTuple):
    """A challenge that was opened: its text, as the browser sends it.

    Of a registration also the user handle, what the user has proved before, and the user's
    ``factor_version`` of that time: after a change of the factors another proof may be needed.
    """

    text: str
    handle: bytes = b""
    proved: Proved = Proved((), datetime.fromtimestamp(0, UTC))
    factor_version: int = 0

    def spend(self, db: Session) -> bool:
        """Use the challenge up in the transaction of ``db``; False if it was used before."""
        return single_use.spend(db, f"{PURPOSE} {self.text}", clock.now() + LIFETIME)


def of_browser(seed: str) -> str:
    """What a challenge of the login page is bound to; ``seed``: that of the CSRF cookie."""
    return f"sign-in in browser {seed}"


def of_client(client_id: UUID) -> str:
    """What a challenge for a sign-in at this client is bound to."""
    return f"sign-in at client {client_id}"


def of_pending(pending_id: UUID) -> str:
    """What a challenge for a second factor is bound to: a pending login, or a session (step-up)."""
    return f"second factor of {pending_id}"


def new(ctx: Context, bound: str) -> str:
    """A challenge in base64url, as it stands in the options and in the browser's answer."""
    return _seal(ctx, _FORMAT, bound)


def new_registration(
    ctx: Context, bound_id: UUID, handle: bytes, factor_version: int, proved: Proved
) -> str:
    """A challenge for a new passkey of the user with this handle, who has ``proved`` that before.

    ``bound_id``: of the session, or of the pending login that asks for a factor.
    """
    values = handle, factor_version, int(proved.at.timestamp()), " ".join(proved.amr).encode()
    return _seal(ctx, _REGISTRATION, f"registration in {bound_id}", *values)


def opened(ctx: Context, text: str, bound: str) -> Challenge | None:
    """The challenge, unless it has expired or is bound to something else."""
    return Challenge(text) if _open(ctx, _FORMAT, text, bound) else None


def opened_registration(ctx: Context, text: str, bound_id: UUID) -> Challenge | None:
    """`opened` for one of `new_registration`."""
    values = _open(ctx, _REGISTRATION, text, f"registration in {bound_id}")
    if values is None:
        return None
    _, handle, factor_version, at, amr, _ = values
    proved = Proved(tuple(amr.decode().split()), datetime.fromtimestamp(at, UTC))
    return Challenge(text, handle, proved, factor_version)


def _seal(ctx: Context, form: SealedFormat, bound: str, *fields: object) -> str:
    expires = int((clock.now() + LIFETIME).timestamp())
    ring, nonce = ctx.services.keys[PURPOSE], secrets.token_bytes(16)
    return form.seal(ring, nonce, *fields, expires=expires, bound=bound.encode())


def _open(ctx: Context, form: SealedFormat, text: str, bound: str) -> tuple[Any, ...] | None:
    ring = ctx.services.keys[PURPOSE]
    return form.unseal(ring, text, clock.now(), bound.encode(errors="replace"))


# Verify what a browser made with a passkey (Web Authentication Level 3, sections 7.1 and 7.2).
#
# The library checks the structure, the origin, the domain, the flags and the signature. This
# module checks what it does not: that no other site embeds the page, that the id is the one of
# the key, that the key is one of ours and loads, and the size. Whatever a malformed value makes
# it raise means that the credential is invalid: it raises `ValueError`, `KeyError`, `IndexError`
# and `TypeError`, too.


MAX_SIZE = 16 * 1024  # bytes of JSON text
MAX_ID = 1023  # bytes of a credential id (section 4, Credential ID)
_ID = re.compile(r"[A-Za-z0-9_-]{1,1364}")  # base64url of that limit
_RSA_BITS = range(2048, 4097)
_TRANSPORTS = ("ble", "hybrid", "internal", "nfc", "smart-card", "usb")
# With which an unknown passkey costs the same verification; its result is never used.
NO_KEY = bytes.fromhex(
    "a5010203262001215820"
    "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    "225820"
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
)


class NewCredential(NamedTuple):
    """A valid registration."""

    credential_id: str
    public_key: bytes
    sign_count: int
    aaguid: UUID
    transports: str
    backup_eligible: bool
    backed_up: bool
    user_verified: bool
    challenge: Challenge


class Assertion(NamedTuple):
    """A valid use of a passkey, before the counter is compared."""

    sign_count: int
    backup_eligible: bool
    backed_up: bool
    user_verified: bool
    challenge: Challenge


def parsed(text: str | None) -> dict[str, Any] | Refused:
    """The credential in JSON text, which is an object with an id, and not too large."""
    if not text:
        return Refused(PasskeyFailure.MALFORMED, "nothing")
    if len(text) > MAX_SIZE or len(text.encode(errors="replace")) > MAX_SIZE:
        return Refused(PasskeyFailure.MALFORMED, f"over {MAX_SIZE} bytes")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return Refused(PasskeyFailure.MALFORMED, "no JSON")
    id = found.get("id") if isinstance(found, dict) else None
    if not isinstance(id, str):
        return Refused(PasskeyFailure.MALFORMED, "no object with an id")
    if not _ID.fullmatch(id):
        return Refused(PasskeyFailure.MALFORMED, f"id: {excerpt(id, 100)}")
    credential: dict[str, Any] = found
    return credential


def verify_registration(
    ctx: Context, party: RelyingParty, given: dict[str, Any], bound_id: UUID
) -> NewCredential | Refused:
    """What the browser made for a challenge of ``bound_id``."""
    try:
        return _verify_registration(ctx, party, given, bound_id)
    except PasskeyRefused as error:
        return error.refused
    except Exception:
        return diagnosis.of_registration(given, party, party.origins_at(ctx.request_info.port))


def verify_assertion(
    ctx: Context,
    party: RelyingParty,
    given: dict[str, Any],
    bound: str,
    public_key: bytes,
    user_handle: str | None,
) -> Assertion | Refused:
    """The use of the passkey with this key and user handle.

    ``user_handle``: in base64url. One that the browser sent must be it. Whether the user must have
    been verified is for the caller to decide.
    """
    try:
        return _verify_assertion(ctx, party, given, bound, public_key, user_handle)
    except PasskeyRefused as error:
        return error.refused
    except Exception:
        return diagnosis.of_use(given, party, party.origins_at(ctx.request_info.port))


def _verify_registration(
    ctx: Context, party: RelyingParty, given: dict[str, Any], bound_id: UUID
) -> NewCredential:
    from webauthn import verify_registration_response
    from webauthn.helpers import base64url_to_bytes, bytes_to_base64url
    from webauthn.helpers.cose import COSEAlgorithmIdentifier

    challenge = opened_registration(ctx, _challenge_in(given), bound_id)
    if challenge is None:
        raise PasskeyRefused(PasskeyFailure.CHALLENGE)
    done = verify_registration_response(
        credential=given,
        expected_challenge=base64url_to_bytes(challenge.text),
        expected_rp_id=party.id,
        expected_origin=party.origins_at(ctx.request_info.port),
        supported_pub_key_algs=[COSEAlgorithmIdentifier(each) for each in ALGORITHMS],
    )
    id = bytes_to_base64url(done.credential_id)
    if id != given["id"] or len(done.credential_id) > MAX_ID:
        raise PasskeyRefused(PasskeyFailure.KEY)
    if not _is_usable(done.credential_public_key):
        raise PasskeyRefused(PasskeyFailure.KEY)
    named = given["response"].get("transports")
    transports = [each for each in _TRANSPORTS if isinstance(named, list) and each in named]
    return NewCredential(
        id,
        done.credential_public_key,
        done.sign_count,
        UUID(done.aaguid),
        " ".join(transports),
        done.credential_device_type == "multi_device",
        done.credential_backed_up,
        done.user_verified,
        challenge,
    )


def _verify_assertion(
    ctx: Context,
    party: RelyingParty,
    given: dict[str, Any],
    bound: str,
    public_key: bytes,
    user_handle: str | None,
) -> Assertion:
    from webauthn import verify_authentication_response
    from webauthn.helpers import base64url_to_bytes

    challenge = opened(ctx, _challenge_in(given), bound)
    sent = given["response"].get("userHandle")
    if challenge is None:
        raise PasskeyRefused(PasskeyFailure.CHALLENGE)
    if sent and (user_handle is None or not _is_handle(sent, user_handle)):
        raise PasskeyRefused(PasskeyFailure.USER_HANDLE)
    done = verify_authentication_response(
        credential=given,
        expected_challenge=base64url_to_bytes(challenge.text),
        expected_rp_id=party.id,
        expected_origin=party.origins_at(ctx.request_info.port),
        credential_public_key=public_key,
        credential_current_sign_count=0,  # the caller compares it, by the kind of passkey
    )
    return Assertion(
        done.new_sign_count,
        done.credential_device_type == "multi_device",
        done.credential_backed_up,
        done.user_verified,
        challenge,
    )


def _challenge_in(given: dict[str, Any]) -> str:
    """The challenge that the browser answered.

    Raises `PasskeyRefused` for a page that another site embeds (section 13.4.9).
    """
    from webauthn.helpers import base64url_to_bytes

    data = json.loads(base64url_to_bytes(given["response"]["clientDataJSON"]))
    if data.get("crossOrigin") not in (None, False) or "topOrigin" in data:
        sent = excerpt(data.get("topOrigin", data.get("origin")))
        raise PasskeyRefused(PasskeyFailure.CROSS_ORIGIN, sent)
    text: str = data["challenge"]
    return text


def _is_handle(sent: object, user_handle: str) -> bool:
    return isinstance(sent, str) and sent.rstrip("=") == user_handle


def _is_usable(public_key: bytes) -> bool:
    """Whether the key loads, and is of the kind that its algorithm has."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
    from webauthn.helpers import decode_credential_public_key
    from webauthn.helpers.decoded_public_key_to_cryptography import (
        decoded_public_key_to_cryptography,
    )

    decoded = decode_credential_public_key(public_key)
    key = decoded_public_key_to_cryptography(decoded)
    if decoded.alg == -7:
        return isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1)
    if decoded.alg == -8:
        return isinstance(key, ed25519.Ed25519PublicKey)
    return isinstance(key, rsa.RSAPublicKey) and key.key_size in _RSA_BITS


# Errors of passkeys.


_ANY = Refused(PasskeyFailure.MALFORMED)


class InvalidCredential(ValidationFailed):
    """The browser's answer is wrong, too old, or was used before: ``refused`` says which.

    It is recorded once an hour for each address, user and reason; the log has each.
    """

    keeps_writes = True
    audit_event = Event.PASSKEY_REFUSED

    def __init__(self, refused: Refused = _ANY, user_id: UUID | None = None) -> None:
        why = refused.failure
        super().__init__(details=[FieldError("invalid_credential", "credential", why.person)])
        self.why, self.reason = why, str(why)
        self.audit_details = self.shown = refused.details
        self.audit_subject = f"{user_id} {refused.failure}"


class TooManyPasskeys(ApiError):
    """The user has as many passkeys as one may have."""

    status = 409
    code = "too_many_passkeys"
    summary = "The user has 20 passkeys, and no more are allowed."
    message = _("You have 20 passkeys, which is the most. Remove one first.")


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
    handle = stored.handle_of(ctx, account.id) or _text(secrets.token_bytes(HANDLE_SIZE))
    return {
        "rp": {"id": party.id, "name": ctx.settings.site_name},
        "user": {
            "id": handle,
            "name": account.email,
            "displayName": account.name or account.email,
        },
        "challenge": new_registration(
            ctx, bound_id, urlsafe_b64decode(f"{handle}="), version, proved
        ),
        "pubKeyCredParams": [{"type": "public-key", "alg": each} for each in ALGORITHMS],
        "timeout": int(LIFETIME.total_seconds() * 1000),
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
    `SignInEnded`, and what `stored.chosen` raises.
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
