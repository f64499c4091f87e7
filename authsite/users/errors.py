"""What can go wrong with a user's names."""

from collections.abc import Sequence

from authsite.http.errors import FieldError, ValidationFailed
from authsite.texts import text as _


class IdentifierTaken(ValidationFailed):
    """Somebody has one of these login names already."""

    def __init__(self, fields: Sequence[str]) -> None:
        super().__init__(
            details=[
                FieldError(
                    "taken", field, _("Somebody uses this already. Log in, or take another.")
                )
                for field in fields
            ]
        )
