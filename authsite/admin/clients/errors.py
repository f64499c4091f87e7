"""Errors of clients as administrators see them."""

from authsite.platform.http.errors import FieldError, ValidationFailed


class InvalidClient(ValidationFailed):
    """A client cannot have a value."""

    summary = "A value is one that a client of this type cannot have."

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message, details=[FieldError("invalid", field, message)])
