"""Errors of clients as administrators see them."""

from authsite.oauth.invalid_value import InvalidValue
from authsite.platform.http.errors import FieldError, ValidationFailed


class InvalidClient(ValidationFailed):
    """A client cannot have a value."""

    summary = "A value is one that a client of this type cannot have."

    def __init__(self, error: ValueError, field: str | None = None) -> None:
        """``error``: a value was refused. An `InvalidValue` names its field, or ``field`` is it."""
        message = str(error)
        if isinstance(error, InvalidValue):
            message, field = error.message, error.field or field
        super().__init__(str(error), details=[FieldError("invalid", field, message)])
