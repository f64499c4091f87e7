"""Errors of OpenID Connect."""

from authsite.oauth.reasons import TokenReason
from authsite.platform.http.errors import TemporarilyUnavailable

RETRY_AFTER = 60  # seconds; every process reads the keys again by then


class SigningUnavailable(TemporarilyUnavailable):
    """There is no key that can sign. `authsite doctor` says why."""

    summary = "The service cannot sign ID tokens at the moment."
    why = TokenReason.SIGNING
    message = why.person
    reason = why.meaning

    def __init__(self) -> None:
        super().__init__(RETRY_AFTER)


class NotOurIdToken(ValueError):
    """A text that is not an ID token of this service."""
