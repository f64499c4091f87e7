"""Why a passkey was refused: for the operator each check has its own reason.

The person and the caller learn none of them: they would tell which passkeys there are.
"""

from typing import NamedTuple

from authsite.platform.audit.explained import Explained


class PasskeyFailure(Explained):
    """Why the use or the registration of a passkey was refused: the detail `check`."""

    ALGORITHM = (
        "algorithm",
        "The key has an algorithm that is not accepted: not ES256, EdDSA (Ed25519) or RS256.",
    )
    ATTESTATION = (
        "attestation",
        "The attestation of the new passkey is wrong, though none was asked for.",
    )
    BACKUP = (
        "backup",
        "The flags that say whether the passkey may be synced contradict each other, or what was "
        "said when it was registered (Web Authentication Level 3, section 6.1.3).",
    )
    CEREMONY = (
        "ceremony",
        "The browser did something else than was asked for: a registration in place of a use, or "
        "the reverse.",
    )
    CHALLENGE = (
        "challenge",
        "The challenge is not ours, is over ten minutes old, or belongs to another sign-in, "
        "browser or purpose.",
    )
    CHANGED = (
        "changed",
        "The factors of the user were changed after the registration began, or the passkey belongs "
        "to another handle of the user than the others.",
    )
    COUNTER = (
        "counter",
        "The counter of a passkey that is bound to one device went back: there may be a copy of "
        "it.",
    )
    CROSS_ORIGIN = (
        "cross_origin",
        "The page was embedded in one of another site.",
    )
    DISABLED = "disabled", "The user is disabled."
    KEY = "key", "The public key of the new passkey cannot be used, or its id is not the one sent."
    MALFORMED = (
        "malformed",
        "What was sent is not the JSON of `PublicKeyCredential.toJSON()`: an id and its values in "
        "base64url without padding.",
    )
    NONE = "none", "Passkeys are off: `passkey-rp-id`, `factors`."
    ORIGIN = (
        "origin",
        "The page was opened at an origin that is not one of `base-url` or `passkey-origins`, "
        "compared whole. Open the page at the address in `base-url`, or list the origin.",
    )
    OTHER_USER = "other_user", "The passkey belongs to another user than the one who signs in."
    REPLAYED = (
        "replayed",
        "This answer of the browser was used before, or the passkey was used or removed at the "
        "same moment.",
    )
    RP_ID = (
        "rp_id",
        "The passkey was made or used for another domain than `passkey-rp-id`.",
    )
    SIGNATURE = "signature", "The signature is not by the key of this passkey."
    TAKEN = "taken", "A passkey with this id is registered already."
    UNKNOWN = (
        "unknown",
        "No user has this passkey, or it is of another domain than the present `passkey-rp-id`.",
    )
    USER_HANDLE = "user_handle", "The passkey names another user than the one whose key it is."
    USER_PRESENCE = "user_presence", "The authenticator was not touched."
    USER_VERIFICATION = (
        "user_verification",
        "The authenticator has not verified the user by PIN, fingerprint or face, which a sign-in "
        "with the passkey alone needs.",
    )
    UV_NOT_INITIALIZED = (
        "uv_not_initialized",
        "The passkey has not verified its user beside another proof yet, so that it does not sign "
        "in alone: a security key without a PIN lets its finder set one. Used once after the "
        "password, with PIN, fingerprint or face, it signs in alone from then on.",
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
