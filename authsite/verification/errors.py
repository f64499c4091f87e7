"""Errors of verification links."""

from authsite.oauth.errors import InvalidGrant
from authsite.platform.audit.events import Event
from authsite.platform.http.errors import ApiError, FieldError
from authsite.platform.i18n import _

_CONFIRM = _(
    "Confirm your e-mail address first: open the link in our e-mail, or request a new one."
)


class InvalidSignature(ApiError):
    summary = "The signature is wrong, or the link is for an address that the user no longer has."
    status = 403
    code = "invalid_signature"
    audit_event = Event.VERIFICATION_REFUSED
    message = _("This link is not valid. Request a new one.")


class ExpiredSignature(ApiError):
    summary = "The link has expired."
    status = 403
    code = "expired_signature"
    message = _("This link has expired. Request a new one.")


class LoginNotConfirmed(InvalidGrant):
    """Confirmation is required: the password is right, but the address is not confirmed."""

    def __init__(self) -> None:
        super().__init__(_CONFIRM, details=[FieldError("email_not_confirmed", None, _CONFIRM)])
