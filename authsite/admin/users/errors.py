"""Errors of what administrators do with users."""

from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import _


class AccountChanged(ApiError):
    """A role is given to the account that the administrator has looked at."""

    summary = "The account has another address, or its sign-ins have ended, since it was shown."
    status = 409
    code = "conflict"
    message = _(
        "This account was changed since the page was opened: it may have another address now. Make "
        "sure whose account it is, and save again."
    )


class UserIsDisabled(ApiError):
    """The user is disabled, so that a mailed link would not work."""

    summary = "The user is disabled, so that a mailed link would not work."
    status = 409
    code = "conflict"
    message = _("This user is disabled, so a mailed link would not work. Enable the user first.")
