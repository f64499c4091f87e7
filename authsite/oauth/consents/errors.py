"""Errors of connected applications."""

from authsite.platform.http.errors import NotFound
from authsite.platform.i18n import _


class UnknownConsent(NotFound):
    summary = "The user has allowed no client with this id anything."
    message = _("This application has no access, or no longer has it. Get the list again.")
