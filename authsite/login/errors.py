"""Errors of wrong passwords."""

from authsite.http.errors import FieldError, ValidationFailed
from authsite.i18n import _


class WrongCredentials(ValidationFailed):
    """Wrong name, wrong password or a disabled user; the audit row of the failure is kept."""

    keeps_writes = True

    def __init__(self) -> None:
        message = _("The login name or the password is not right. Check both, and try again.")
        super().__init__(details=[FieldError("invalid_credentials", None, message)])


class WrongCurrentPassword(ValidationFailed):
    """The current password is wrong (reauthentication); the audit row of the failure is kept."""

    keeps_writes = True

    def __init__(self) -> None:
        message = _("This is not your current password. Enter it again.")
        super().__init__(details=[FieldError("invalid_password", "current_password", message)])
