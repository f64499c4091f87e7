"""Errors of wrong passwords."""

from collections.abc import Sequence

from authsite.http.errors import FieldError, ValidationFailed
from authsite.i18n import _

from .wording import wording


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
