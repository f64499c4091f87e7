"""Errors of a user's login names and sign-in."""

from collections.abc import Sequence

from authsite.http.errors import ApiError, FieldError, ValidationFailed
from authsite.i18n import _


class SignInEnded(ApiError):
    """The sign-in of the request was ended after the guard had accepted it.

    `authsite.guards` gives it the same response as a request without a sign-in.
    """

    status = 401
    code = "unauthenticated"
    message = "The sign-in has ended. Sign in again."
    listed = False


class IdentifierTaken(ValidationFailed):
    """Another user has one of these login names."""

    def __init__(self, fields: Sequence[str]) -> None:
        message = _("Somebody uses this already. Log in, or take another.")
        super().__init__(details=[FieldError("taken", field, message) for field in fields])
