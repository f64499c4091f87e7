"""Errors of clients as administrators see them."""

from authsite.admin.errors import Outranked
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.i18n import _


class InvalidClient(ValidationFailed):
    """A client cannot have a value."""

    summary = "A value is one that a client of this type cannot have."

    def __init__(self, message: str = "", field: str | None = None) -> None:
        super().__init__(message, details=[FieldError("invalid", field, message)])


class NotForClients(Outranked):
    """A client that acts for itself would change a client."""

    message = _("No program changes programs: sign in as an owner of this site to do this.")
