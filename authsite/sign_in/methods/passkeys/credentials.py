"""Verify what a browser made with a passkey (Web Authentication Level 3, sections 7.1 and 7.2).

The library checks the structure, the origin, the domain, the flags and the signature. This module
checks what it does not: that no other site embeds the page, that the id is the one of the key, that
the key is one of ours and loads, and the size. Whatever a malformed value makes it raise means that
the credential is invalid: it raises `ValueError`, `KeyError`, `IndexError` and `TypeError`, too.
"""

import json
import re
from typing import Any, NamedTuple
from uuid import UUID

from authsite.platform.audit.excerpts import excerpt
from authsite.platform.context import Context
from authsite.platform.settings.relying_party import RelyingParty

from . import challenges, diagnosis
from .challenges import Challenge
from .diagnosis import ALGORITHMS
from .failures import PasskeyFailure, PasskeyRefused, Refused

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

    challenge = challenges.opened_registration(ctx, _challenge_in(given), bound_id)
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

    challenge = challenges.opened(ctx, _challenge_in(given), bound)
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
