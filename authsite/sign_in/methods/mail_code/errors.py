"""Errors of a form that takes a code by mail."""

from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.i18n import _


class WrongCode(ValidationFailed):
    """The code is wrong."""

    def __init__(self) -> None:
        message = _("This code is wrong. Enter the one from the latest e-mail: eight letters.")
        super().__init__(details=[FieldError("invalid_code", "code", message)])


class CodeEnded(ValidationFailed):
    """The code was used, tried too often or requested in another browser, or is too old."""

    def __init__(self) -> None:
        message = _("The code no longer works here. Open the link in the e-mail instead.")
        super().__init__(details=[FieldError("expired", "code", message)])
