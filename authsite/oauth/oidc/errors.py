"""Errors of OpenID Connect."""

from authsite.platform.http.errors import TemporarilyUnavailable
from authsite.platform.i18n import _

RETRY_AFTER = 60  # seconds; every process reads the keys again by then


class SigningUnavailable(TemporarilyUnavailable):
    """There is no key that can sign. `authsite doctor` says why."""

    summary = "The service cannot sign ID tokens at the moment."
    message = _(
        "Signing in to applications does not work now. Try again in a few minutes. If you run this "
        "site, “authsite doctor” shows the cause."
    )
    reason = "no signing key is usable"

    def __init__(self) -> None:
        super().__init__(RETRY_AFTER)


class NotOurIdToken(ValueError):
    """A text that is not an ID token of this service."""
