"""Errors of the account: no such session, no pending change of address."""

from authsite.platform.http.errors import NotFound
from authsite.platform.i18n import _


class UnknownSession(NotFound):
    summary = "No session of the user has this id: it has ended, or belongs to another user."
    message = _("There is no such session, or it has ended. Get the list again.")


class NoPendingChange(NotFound):
    summary = "No change of address is pending: it was completed, has ended or was never requested."
    message = "No change of address is pending. Ask for one with PUT /v1/user/email."
