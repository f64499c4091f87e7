"""Errors of passkeys."""

from uuid import UUID

from authsite.platform.audit.events import Event
from authsite.platform.http.errors import ApiError, FieldError, ValidationFailed
from authsite.platform.i18n import _

from .failures import PasskeyFailure, Refused

_ANY = Refused(PasskeyFailure.MALFORMED)


class InvalidCredential(ValidationFailed):
    """The browser's answer is wrong, too old, or was used before: ``refused`` says which.

    It is recorded once an hour for each address, user and reason; the log has each.
    """

    keeps_writes = True
    audit_event = Event.PASSKEY_REFUSED

    def __init__(self, refused: Refused = _ANY, user_id: UUID | None = None) -> None:
        why = refused.failure
        super().__init__(details=[FieldError("invalid_credential", "credential", why.person)])
        self.why, self.reason = why, str(why)
        self.audit_details = self.shown = refused.details
        self.audit_subject = f"{user_id} {refused.failure}"


class TooManyPasskeys(ApiError):
    """The user has as many passkeys as one may have."""

    status = 409
    code = "too_many_passkeys"
    summary = "The user has 20 passkeys, and no more are allowed."
    message = _("You have 20 passkeys, which is the most. Remove one first.")
