"""Errors of what administrators do with users."""

from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import _


class UserIsDisabled(ApiError):
    """The user is disabled, so that a mailed link would not work."""

    summary = "The user is disabled, so that a mailed link would not work."
    status = 409
    code = "conflict"
    message = _("This user is disabled, so a mailed link would not work. Enable the user first.")
