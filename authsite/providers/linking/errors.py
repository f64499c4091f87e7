"""Errors of identities."""

from authsite.platform.http.errors import ApiError, NotFound
from authsite.platform.i18n import _


class UnknownIdentity(NotFound):
    summary = "No identity of the user has this id: it was removed, or belongs to another user."
    message = _("There is no such sign-in method, or it was disconnected. Get the list again.")


class LastSignInMethod(ApiError):
    summary = "Without this identity the user could not sign in any more."
    status = 409
    code = "last_sign_in_method"
    message = _(
        "This is your last way to sign in, so it cannot be disconnected. Set a password first, or "
        "connect another provider."
    )


class UnknownClient(NotFound):
    summary = "No client of this name is configured."
    message = "There is no client of this name. Check the name in the path."
