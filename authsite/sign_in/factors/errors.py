"""Errors of changes of the second factors."""

from authsite.platform.http.errors import ApiError, FieldError, NotFound, ValidationFailed
from authsite.platform.i18n import _


class InvalidEnrollment(ValidationFailed):
    """The enrollment has expired, was used, or is of another user or sign-in."""

    def __init__(self) -> None:
        message = _("This set-up has expired or was completed before. Begin again.")
        super().__init__(details=[FieldError("invalid_token", "enrollment", message)])


class WrongFirstCode(ValidationFailed):
    """The code does not belong to the new authenticator app."""

    def __init__(self) -> None:
        message = _(
            "This code is not right. Enter the six digits that your app shows now, and check"
            " the clock of your device."
        )
        super().__init__(details=[FieldError("invalid_code", "code", message)])


class UnknownFactor(NotFound):
    summary = "The user has no such factor: it was removed, or belongs to another user."
    message = _("There is no such factor, or it was removed. Get the list again.")


class NotOffered(NotFound):
    summary = "The settings do not let users add this."
    message = _("This site does not offer that. Choose another second factor.")


class FactorRequired(ApiError):
    summary = "The user has neither a second factor nor a passkey."
    status = 409
    code = "factor_required"
    message = _("Your account has no second factor. Add an authenticator app or a passkey first.")


class LastFactor(FactorRequired):
    summary = "The policy requires a second factor, and this is the user's last one."
    message = _(
        "This site requires a second factor, and this is your last one. Add another one first."
    )


class LastWayIn(ApiError):
    summary = "Without this passkey the user could not sign in any more."
    status = 409
    code = "last_sign_in_method"
    message = _(
        "This is your last way to sign in, so it cannot be removed. Set a password first, or add"
        " another passkey."
    )
