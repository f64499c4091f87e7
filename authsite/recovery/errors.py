"""What can go wrong with a reset."""

from authsite.http.errors import FieldError, ValidationFailed
from authsite.texts import text as _


class InvalidResetToken(ValidationFailed):
    """A wrong token, a wrong address, a used or an expired token: one and the same answer."""

    def __init__(self) -> None:
        message = _("This link is not valid any more. Ask for a new one.")
        super().__init__(details=[FieldError("invalid_token", "token", message)])
