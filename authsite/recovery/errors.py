"""Errors of a password reset."""

from authsite.platform.audit.events import Event
from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.i18n import _


class InvalidResetToken(ValidationFailed):
    """The token is wrong, used, expired or of another address; the response is the same for all."""

    audit_event = Event.RECOVERY_REFUSED

    def __init__(self) -> None:
        message = _("This link is no longer valid. Request a new one.")
        super().__init__(details=[FieldError("invalid_token", "token", message)])
