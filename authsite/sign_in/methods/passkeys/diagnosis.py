"""Which check of a passkey has failed, after the library has refused it.

It says so with the words of a message, which are not to be read by programs. So the values that it
compares are compared once more, in its order (Web Authentication Level 3, sections 7.1 and 7.2).
"""

import json
from collections.abc import Sequence
from hashlib import sha256
from hmac import compare_digest
from typing import Any
from urllib.parse import urlsplit

from authsite.platform.audit.excerpts import excerpt
from authsite.platform.settings.relying_party import RelyingParty

from .failures import PasskeyFailure, Refused

ALGORITHMS = (-7, -8, -257)  # ES256, EdDSA, RS256 of COSE, in the order of preference
MAX_ALGORITHM = 2**31 - 1  # the registry of COSE has no larger number
CREATE, GET = "webauthn.create", "webauthn.get"


def of_use(given: dict[str, Any], party: RelyingParty, origins: Sequence[str]) -> Refused:
    """Why the use of a passkey, whose challenge and user handle are right, was refused."""
    from webauthn.helpers import base64url_to_bytes, parse_authenticator_data

    try:
        raw = base64url_to_bytes(given["response"]["authenticatorData"])
        found = _compared(given, GET, origins) or _flags(
            given, parse_authenticator_data(raw), party
        )
        return found or Refused(PasskeyFailure.SIGNATURE)
    except Exception:  # as many kinds as there are malformed values
        return Refused(PasskeyFailure.MALFORMED)


def of_registration(given: dict[str, Any], party: RelyingParty, origins: Sequence[str]) -> Refused:
    """Why the registration of a passkey, whose challenge is right, was refused."""
    from webauthn.helpers import (
        base64url_to_bytes,
        decode_credential_public_key,
        parse_attestation_object,
    )

    try:
        if found := _compared(given, CREATE, origins):
            return found
        raw = base64url_to_bytes(given["response"]["attestationObject"])
        attested = parse_attestation_object(raw)
        if found := _flags(given, attested.auth_data, party):
            return found
        credential = attested.auth_data.attested_credential_data
        if credential is None:
            return Refused(PasskeyFailure.MALFORMED)
        algorithm = decode_credential_public_key(credential.credential_public_key).alg
        if algorithm not in ALGORITHMS:
            # CBOR also has numbers whose conversion takes minutes, such as 1E+1000000.
            if not isinstance(algorithm, int) or abs(algorithm) > MAX_ALGORITHM:
                return Refused(PasskeyFailure.MALFORMED)
            expected = " ".join(map(str, ALGORITHMS))
            return Refused(PasskeyFailure.ALGORITHM, str(int(algorithm)), expected)
        return Refused(PasskeyFailure.ATTESTATION, excerpt(attested.fmt, 50), "none")
    except Exception:  # as many kinds as there are malformed values
        return Refused(PasskeyFailure.MALFORMED)


def _compared(given: dict[str, Any], ceremony: str, origins: Sequence[str]) -> Refused | None:
    """What differs in the client data."""
    from webauthn.helpers import base64url_to_bytes

    data = json.loads(base64url_to_bytes(given["response"]["clientDataJSON"]))
    if data["type"] != ceremony:
        return Refused(PasskeyFailure.CEREMONY, excerpt(data["type"], 50), ceremony)
    if data["origin"] not in origins:
        return Refused(PasskeyFailure.ORIGIN, excerpt(data["origin"]), " ".join(origins))
    return None


def _flags(given: dict[str, Any], data: Any, party: RelyingParty) -> Refused | None:
    """What differs in the authenticator data."""
    from webauthn.helpers import base64url_to_bytes

    if not _is_hash_of(party.id, data.rp_id_hash):
        client = json.loads(base64url_to_bytes(given["response"]["clientDataJSON"]))
        return Refused(PasskeyFailure.RP_ID, _domain(data.rp_id_hash, client["origin"]), party.id)
    if not data.flags.up:
        return Refused(PasskeyFailure.USER_PRESENCE)
    if data.flags.bs and not data.flags.be:
        return Refused(PasskeyFailure.BACKUP, "backed up, and not eligible for it")
    return None


def _domain(digest: bytes, origin: str) -> str:
    """The domain with this hash: the origin's host, or a parent of it; else the hash."""
    labels = (urlsplit(origin).hostname or "").split(".")
    names = [".".join(labels[number:]) for number in range(len(labels))]
    known = (name for name in names if _is_hash_of(name, digest))
    return excerpt(next(known, f"the SHA-256 {digest.hex()}"), 200)


def _is_hash_of(domain: str, digest: bytes) -> bool:
    return compare_digest(sha256(domain.encode()).digest(), digest)
