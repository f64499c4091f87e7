"""Errors of the forms after a return."""

from authsite.platform.http.errors import ApiError, FieldError, ValidationFailed
from authsite.platform.i18n import _


class Changed(ApiError):
    """The account or the identity is not as it was when the page was opened."""

    status = 409
    code = "changed"
    message = _("Something has changed since you opened this page. Look at it again.")


class WrongPassword(ValidationFailed):
    """The password is not that of the account; the audit row of the failure is kept."""

    keeps_writes = True

    def __init__(self) -> None:
        message = _("This is not the password of the account. Enter it again.")
        super().__init__(details=[FieldError("invalid_password", "password", message)])
