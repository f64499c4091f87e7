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


class MissingMailCode(ValidationFailed):
    """A mailed code is asked for, and the request has none."""

    def __init__(self, others: Sequence[FieldError] = ()) -> None:
        """``others``: the errors of the other fields."""
        message = _("Enter the code that we mailed to you. You can ask for a new one.")
        missing = FieldError("required", "mail_code", message)
        super().__init__(details=[missing, *others])


class WrongMailCode(ValidationFailed):
    """The mailed code is wrong, or has expired. Its failure is recorded apart."""

    def __init__(self) -> None:
        message = _("This is not the code that we mailed to you, or it has expired. Try again.")
        super().__init__(details=[FieldError("invalid_code", "mail_code", message)])


class InsufficientUserAuthentication(ApiError):
    """The sign-in is too old for the route, or its level is too low (RFC 9470, section 3).

    ``max_age`` and ``acr_values`` are what the route needs. ``scope``: scopes that the token lacks,
    because the sign-in is too weak for them. ``verify_page`` is the path or URL of the page that
    asks for what is missing; None if no browser asks.
    """

    summary = "The sign-in is too old or without a second factor (RFC 9470, section 3)."
    status = 401
    code = "insufficient_user_authentication"
    message = "This endpoint needs a more recent login: log in again, and use the new token."
    too_weak: str = (
        "This endpoint needs a login with a second factor: log in again with one, and use the new "
        "token."
    )
    verify_page: str | None = None

    def __init__(
        self, max_age: timedelta | None = None, acr_values: str | None = None, scope: str = ""
    ) -> None:
        challenge = f'Bearer error="{self.code}"'
        if acr_values:
            challenge += f', acr_values="{acr_values}"'
        if max_age is not None:
            challenge += f", max_age={int(max_age.total_seconds())}"
        if scope:
            challenge += f', scope="{scope}"'
        message = self.too_weak if acr_values else None
        super().__init__(message, headers={"WWW-Authenticate": challenge})
        self.max_age, self.acr_values = max_age, acr_values


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


class StepUpRequired(InsufficientUserAuthentication):
    """A change needs a recent sign-in, and one with a second factor where the user has one."""

    summary = (
        "The user has a second factor or a passkey, and the sign-in was without one, or its last "
        "proof is 10 minutes ago or longer (RFC 9470, section 3)."
    )
    message = _("Confirm first that it is you: sign in again with your second factor.")
    too_weak = message

    def __init__(self, acr_values: str | None = None) -> None:
        super().__init__(PROOF_LIFETIME, acr_values)


PROOF_ERRORS = (WrongCurrentPassword, ProofRequired, StepUpRequired)
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
