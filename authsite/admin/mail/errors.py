"""Errors of mails."""

from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import _


class MailEnded(ApiError):
    """The mail was sent or dropped, or is being sent."""

    summary = "The mail was sent or dropped, or is being sent."
    status = 409
    code = "conflict"
    message = _(
        "This mail was sent or dropped already, or is being sent now. Load the list again to see"
        " what became of it."
    )


class SecurityNotice(ApiError):
    """A mail that tells users what happened to their accounts is never canceled."""

    summary = "The mail is a notice of security."
    status = 403
    code = "not_allowed"
    message = _(
        "This mail tells a user what happened to the account, and cannot be canceled. Only mails"
        " with a link or a code to use can be."
    )
