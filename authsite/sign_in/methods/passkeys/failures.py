"""Why a passkey was refused: for the operator each check has its own reason.

The person and the caller learn none of them: they would tell which passkeys there are.
"""

import json
from collections.abc import Sequence
from hashlib import sha256
from hmac import compare_digest
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from authsite.platform.audit.excerpts import excerpt
from authsite.platform.denied_requests.reason import DenialReason, Texts
from authsite.platform.i18n import _
from authsite.platform.settings.rules import RelyingParty

_PERSON = _("The passkey could not be checked. Try again with a new prompt.")


def _row(name: str, meaning: str, developer: str) -> Texts:
    return Texts(name, "invalid_credential", meaning, _PERSON, developer, 422, in_answer=False)


class PasskeyFailure(DenialReason):
    """Why the use or the registration of a passkey was refused: the detail `check`."""

    ALGORITHM = _row(
        "algorithm",
        "The key has an algorithm that is not accepted: not ES256, EdDSA (Ed25519) or RS256.",
        "Take pubKeyCredParams from the options of this registration, unchanged: it lists the "
        "algorithms.",
    )
    ATTESTATION = _row(
        "attestation",
        "The attestation of the new passkey is wrong, though none was asked for.",
        "Ask for no attestation: leave attestation in the options as it is, and send the "
        "attestationObject of the browser unchanged.",
    )
    BACKUP = _row(
        "backup",
        "The flags that say whether the passkey may be synced contradict each other, or what was "
        "said when it was registered (Web Authentication Level 3, section 6.1.3).",
        "Send authenticatorData unchanged. If it is, the authenticator contradicts itself: try "
        "another one, and tell its maker.",
    )
    CEREMONY = _row(
        "ceremony",
        "The browser did something else than was asked for: a registration in place of a use, or "
        "the reverse.",
        "Use navigator.credentials.create for the options of a registration and "
        "navigator.credentials.get for those of a use, and send each result to its own endpoint.",
    )
    CHALLENGE = _row(
        "challenge",
        "The challenge is not ours, is over ten minutes old, or belongs to another sign-in, "
        "browser or purpose.",
        "Fetch new options before each prompt, in the same browser or with the same token as the "
        "answer, and send the answer once, within ten minutes.",
    )
    CHANGED = _row(
        "changed",
        "The factors of the user were changed after the registration began, or the passkey "
        "belongs to another handle of the user than the others.",
        "Fetch new options after each change of the user's factors, and begin the registration "
        "again.",
    )
    COUNTER = _row(
        "counter",
        "The counter of a passkey that is bound to one device went back: there may be a copy of "
        "it.",
        "Nothing can be changed in the program. An emulated authenticator has to count on from "
        "the last signCount.",
    )
    CROSS_ORIGIN = _row(
        "cross_origin",
        "The page was embedded in one of another site.",
        "Open the page in a window of its own, not in a frame of another site.",
    )
    DISABLED = _row(
        "disabled",
        "The user is disabled.",
        "Nothing can be changed in the program: an administrator can enable the user.",
    )
    KEY = _row(
        "key",
        "The public key of the new passkey cannot be used, or its id is not the one sent.",
        "Send id, rawId and attestationObject of the same result of the browser, unchanged.",
    )
    MALFORMED = _row(
        "malformed",
        "What was sent is not the JSON of `PublicKeyCredential.toJSON()`: an id and its values in "
        "base64url without padding.",
        "Send what PublicKeyCredential.toJSON() returns, as JSON and whole. Values of bytes are "
        "base64url without padding.",
    )
    NONE = _row(
        "none",
        "Passkeys are off: `passkey-rp-id`, `factors`.",
        "Do not offer passkeys here: the options are not available either. The operator can turn "
        "them on.",
    )
    ORIGIN = _row(
        "origin",
        "The page was opened at an origin that is not one of `base-url` or `passkey-origins`, "
        "compared whole. Open the page at the address in `base-url`, or list the origin.",
        "Call the browser's prompt from a page at one of the origins in expected. An app of "
        "Android has an origin of its own, which the operator can list in passkey-origins.",
    )
    OTHER_USER = _row(
        "other_user",
        "The passkey belongs to another user than the one who signs in.",
        "Take allowCredentials from the options of this login, unchanged, so that the browser "
        "offers this user's passkeys alone.",
    )
    REPLAYED = _row(
        "replayed",
        "This answer of the browser was used before, or the passkey was used or removed at the "
        "same moment.",
        "Send each answer of the browser once. For another try fetch new options and prompt again.",
    )
    RP_ID = _row(
        "rp_id",
        "The passkey was made or used for another domain than `passkey-rp-id`.",
        "Take rpId (of a registration rp.id) from the options, unchanged. A passkey of another "
        "domain cannot be used here: the user adds a new one.",
    )
    SIGNATURE = _row(
        "signature",
        "The signature is not by the key of this passkey.",
        "Send authenticatorData, clientDataJSON and signature of the same result of the browser, "
        "unchanged and not encoded again.",
    )
    TAKEN = _row(
        "taken",
        "A passkey with this id is registered already.",
        "Take excludeCredentials from the options, unchanged, so that the authenticator refuses "
        "to register twice.",
    )
    UNKNOWN = _row(
        "unknown",
        "No user has this passkey, or it is of another domain than the present `passkey-rp-id`.",
        "Let the user sign in another way and add a passkey. With "
        "PublicKeyCredential.signalUnknownCredential the browser stops offering this one.",
    )
    USER_HANDLE = _row(
        "user_handle",
        "The passkey names another user than the one whose key it is.",
        "Send userHandle of the same result of the browser, unchanged. It is the user.id of the "
        "registration.",
    )
    USER_PRESENCE = _row(
        "user_presence",
        "The authenticator was not touched.",
        "Prompt again. An emulated authenticator has to set the flag UP.",
    )
    USER_VERIFICATION = _row(
        "user_verification",
        "The authenticator has not verified the user by PIN, fingerprint or face, which a sign-in "
        "with the passkey alone needs.",
        "Take userVerification from the options, unchanged, and prompt again. An authenticator "
        "without PIN, fingerprint or face serves after the password only.",
    )
    UV_NOT_INITIALIZED = _row(
        "uv_not_initialized",
        "The passkey has not verified its user beside another proof yet, so that it does not sign "
        "in alone: a security key without a PIN lets its finder set one. Used once after the "
        "password, with PIN, fingerprint or face, it signs in alone from then on.",
        "Begin with the password, and use the passkey as the second proof with userVerification "
        "of those options. From then on it signs in alone.",
    )


class Refused(NamedTuple):
    """A passkey that was refused; ``sent`` and ``expected`` are for the operator."""

    failure: PasskeyFailure
    sent: str = ""
    expected: str = ""

    @property
    def details(self) -> dict[str, str]:
        """The details of an event."""
        given = {"check": str(self.failure), "sent": self.sent, "expected": self.expected}
        return {name: value for name, value in given.items() if value}


class PasskeyRefused(Exception):
    """Carries a `Refused` out of the checks."""

    def __init__(self, failure: PasskeyFailure, sent: str = "", expected: str = "") -> None:
        super().__init__(failure)
        self.refused = Refused(failure, sent, expected)


# Which check of a passkey has failed, after the library has refused it.
#
# It says so with the words of a message, which are not to be read by programs. So the values that
# it compares are compared once more, in its order (Web Authentication Level 3, sections 7.1 and
# 7.2).


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
