"""How the login page refuses."""

from authsite.http.errors import FieldError, ValidationFailed
from authsite.texts import text as _


class WrongCredentials(ValidationFailed):
    """Wrong name, wrong password or a disabled user; the failed login stays on record."""

    keeps_writes = True

    def __init__(self) -> None:
        message = _("The login name or the password is not right. Check both, and try again.")
        super().__init__(details=[FieldError("invalid_credentials", None, message)])
