"""Errors of passkeys."""

from authsite.platform.http.errors import ApiError, FieldError, ValidationFailed
from authsite.platform.i18n import _


class InvalidCredential(ValidationFailed):
    """The browser's answer is wrong, too old, or was used before."""

    keeps_writes = True

    def __init__(self) -> None:
        message = _("The passkey could not be checked. Try again with a new prompt.")
        super().__init__(details=[FieldError("invalid_credential", "credential", message)])


class TooManyPasskeys(ApiError):
    """The user has as many passkeys as one may have."""

    status = 409
    code = "too_many_passkeys"
    summary = "The user has 20 passkeys, and no more are allowed."
    message = _("You have 20 passkeys, which is the most. Remove one first.")
