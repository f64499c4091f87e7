"""Errors of a user's login names and sign-in."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from authsite.platform.http.errors import ApiError, FieldError, ValidationFailed
from authsite.platform.i18n import _


class SignInEnded(ApiError):
    """The sign-in of the request was ended after the guard had accepted it.

    `authsite.guards` gives it the same response as a request without a sign-in.
    """

    status = 401
    code = "unauthenticated"
    message = "The sign-in has ended. Sign in again."
    listed = False


class LastOwner(ApiError):
    summary = "The user is the last enabled owner of the installation."
    status = 409
    code = "last_owner"
    message = _(
        "This account is the last one that may administer this site. Make another person an owner"
        " first."
    )


class IdentifierTaken(ValidationFailed):
    """Another user has one of these login names."""

    messages: ClassVar[Mapping[str, str]] = {
        "email": _(
            "There is already an account with this address. Sign in or reset your password."
        ),
        "username": _("This username is taken. Choose another."),
        "phone": _("This phone number is taken. Use another."),
    }

    def __init__(self, fields: Sequence[str]) -> None:
        super().__init__(
            details=[FieldError("taken", field, self.messages[field]) for field in fields]
        )


class AddressTaken(IdentifierTaken):
    """Another user has the new e-mail address of a signed-in user."""

    messages: ClassVar[Mapping[str, str]] = {
        "email": _("There is already another account with this address. Use another address."),
    }

    def __init__(self) -> None:
        super().__init__(["email"])


class UserRequired(ApiError):
    summary = "The token acts for a client, and the endpoint requires a user."
    status = 403
    code = "user_required"
    message = "This endpoint needs a token that acts for a user; this one acts for a client."
