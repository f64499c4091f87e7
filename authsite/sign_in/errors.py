"""Errors of wrong passwords and missing proofs."""

from collections.abc import Sequence
from datetime import timedelta

from authsite.platform.addresses import shown_domain
from authsite.platform.http.bodies import CURRENT_PASSWORD_MISSING
from authsite.platform.http.errors import ApiError, FieldError, ValidationFailed
from authsite.platform.i18n import _

from .wording import wording

PROOF_LIFETIME = timedelta(minutes=10)
"""How long the proof of a user without a password counts."""


class WrongCredentials(ValidationFailed):
    """Wrong name, wrong password or a disabled user; the audit row of the failure is kept."""

    keeps_writes = True

    def __init__(self, kinds: Sequence[str]) -> None:
        """``kinds``: the login names that are enabled."""
        message = wording(kinds).wrong
        super().__init__(details=[FieldError("invalid_credentials", None, message)])


class WrongCurrentPassword(ValidationFailed):
    """The current password is wrong (reauthentication); the audit row of the failure is kept."""

    keeps_writes = True

    def __init__(self, others: Sequence[FieldError] = ()) -> None:
        """``others``: the errors of the other fields."""
        message = _("This is not your current password. Enter it again.")
        wrong = FieldError("invalid_password", "current_password", message)
        super().__init__(details=[wrong, *others])


class MissingCurrentPassword(ValidationFailed):
    """The user has a password, and the request has none."""

    def __init__(self, others: Sequence[FieldError] = ()) -> None:
        """``others``: the errors of the other fields."""
        missing = FieldError("required", "current_password", CURRENT_PASSWORD_MISSING)
        super().__init__(details=[missing, *others])


class InsufficientUserAuthentication(ApiError):
    """The login is older than the route's ``fresh`` (RFC 9470, section 3)."""

    status = 401
    code = "insufficient_user_authentication"
    message = "This endpoint needs a more recent login: log in again, and use the new token."

    def __init__(self, max_age: timedelta) -> None:
        seconds = int(max_age.total_seconds())
        challenge = f'Bearer error="{self.code}", max_age={seconds}'
        super().__init__(headers={"WWW-Authenticate": challenge})


class ProofRequired(InsufficientUserAuthentication):
    """The user has no password, and the present sign-in has no recent proof in its place."""

    summary = (
        "The user has no password, and has not confirmed with a linked provider in this browser "
        "session and within the last 10 minutes (RFC 9470, section 3)."
    )
    message = _(
        "Your account has no password. Confirm on your account page that it is you, or set a "
        "password with “Forgot password”, and try again."
    )
    shown_again = True

    def __init__(self) -> None:
        super().__init__(PROOF_LIFETIME)


PROOF_ERRORS = (WrongCurrentPassword, ProofRequired)
"""Of a view that calls `require_proof`, for the API documentation."""


class DomainNotAllowed(ValidationFailed):
    """`registration = domains`, and the e-mail address is of another domain."""

    def __init__(self, domains: Sequence[str] = ("corp.example",)) -> None:
        """``domains``: those that are allowed."""
        super().__init__(details=[FieldError("not_allowed", "email", domains_message(domains))])


def domains_message(domains: Sequence[str]) -> str:
    """Which addresses are allowed."""
    names = ", ".join(map(shown_domain, domains))
    if len(domains) == 1:
        return _("Use an e-mail address that ends with @${domain}.", mapping={"domain": names})
    message = _("Use an e-mail address of one of these domains: ${domains}.")
    return _(message, mapping={"domains": names})
