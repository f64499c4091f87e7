"""What a login with a second step sends and gets, besides tokens."""

from dataclasses import dataclass, field

MFA_GRANT = "urn:authsite:params:oauth:grant-type:mfa"
PASSKEY_GRANT = "urn:authsite:params:oauth:grant-type:passkey"


@dataclass(frozen=True, slots=True)
class Enrollment:
    """A new authenticator app that is not stored yet; it lasts 15 minutes.

    ``secret`` in base32; ``otpauth_uri``: a link for an app on the same device; ``qr_svg``: the
    same as a picture, to be shown on white; ``enrollment``: to send with the first code.
    """

    secret: str = field(repr=False)
    otpauth_uri: str = field(repr=False)
    qr_svg: str = field(repr=False)
    enrollment: str = field(repr=False)


def read_enrollment(body: object) -> Enrollment:
    """The new authenticator app in a response. Raises ValueError."""
    found = body if isinstance(body, dict) else {}
    values = [found.get(name) for name in ("secret", "otpauth_uri", "qr_svg", "enrollment")]
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) != len(values):
        raise ValueError("the response has no new authenticator app")
    return Enrollment(*texts)


def read_recovery_codes(body: object) -> tuple[str, ...]:
    """The recovery codes in a token response, if it has any. Raises ValueError."""
    found = body.get("recovery_codes", []) if isinstance(body, dict) else []
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError("recovery_codes is not a list of texts")
    return tuple(found)
