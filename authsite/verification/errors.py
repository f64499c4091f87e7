"""Errors of verification links."""

from authsite.oauth.errors import InvalidGrant
from authsite.platform.audit.events import Event
from authsite.platform.http.errors import ApiError, FieldError
from authsite.platform.i18n import _
from authsite.sign_in.failure_reasons import FailureReason


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


class ChangeNotAuthenticated(ApiError):
    summary = (
        "The link completes a change of address that its user asked for, and the request has no "
        "access token of this user with which `PUT /v1/user/email` would work."
    )
    status = 401
    code = "unauthenticated"
    message = _(
        "This link completes a change of address. Sign in with the present address, and open the "
        "link again. Applications send it with an access token of the user."
    )

    def __init__(self) -> None:
        super().__init__(headers={"WWW-Authenticate": 'Bearer realm="authsite"'})


class LoginNotConfirmed(InvalidGrant):
    """Confirmation is required: the password is right, but the address is not confirmed."""

    def __init__(self) -> None:
        why = FailureReason.UNCONFIRMED
        super().__init__(why.person, details=[FieldError("email_not_confirmed", None, why.person)])
