"""Errors of clients as administrators see them."""

from collections.abc import Sequence

from authsite.oauth.invalid_value import InvalidValue
from authsite.platform.http.errors import ApiError, FieldError, ValidationFailed
from authsite.platform.i18n import _


class InvalidClient(ValidationFailed):
    """A client cannot have a value, or several."""

    summary = "A value is one that a client of this type cannot have."

    def __init__(self, *errors: InvalidValue) -> None:
        super().__init__("; ".join(map(str, errors)), details=field_errors(errors))


def field_errors(errors: Sequence[InvalidValue]) -> Sequence[FieldError]:
    """The errors of values as a request gets them."""
    return [FieldError("invalid", error.field, error.message) for error in errors]


class ClientInUse(ApiError):
    """A client that is enabled, or that something names, is not deleted."""

    summary = "The client is enabled, or a setting or a resource names it."
    status = 409
    code = "conflict"
    message = _("The app is enabled: disable it first.")

    def __init__(self, error: InvalidValue | None = None) -> None:
        """``error``: what names it; None where it is enabled."""
        super().__init__(error.message if error else None)


class OtherName(ValidationFailed):
    """The name that was typed as a confirmation is not the client's."""

    summary = "The name is not that of the client."

    def __init__(self) -> None:
        message = _("This is not the name of the app. Type it to delete the app.")
        super().__init__(details=[FieldError("invalid", "name", message)])
