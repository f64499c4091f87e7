"""Errors of personal access tokens."""

from authsite.platform.http.errors import ApiError, FieldError, NotFound, ValidationFailed
from authsite.platform.i18n import _

NAME_MISSING = _("Enter a name for the token.")


class TooManyTokens(ApiError):
    summary = "The user has as many active personal access tokens as a user may have."
    status = 409
    code = "too_many_tokens"
    message = _("You have reached the maximum number of personal access tokens. Revoke one first.")


class UnknownToken(NotFound):
    summary = "No active personal access token of the user has this id."
    message = _("There is no such token, or it has been revoked. Get the list again.")


class ScopeNotAllowed(ValidationFailed):
    """A scope that the new token may not have."""

    def __init__(self) -> None:
        message = _("Choose only scopes that you may pass on to a personal access token.")
        super().__init__(details=[FieldError("not_allowed", "scope", message)])


class InvalidLifetime(ValidationFailed):
    """The lifetime is not a duration, or longer than a year."""

    def __init__(self) -> None:
        message = _("Give a duration such as 12h, 30d or 365d: more than 0, at most a year.")
        super().__init__(details=[FieldError("invalid", "expires_in", message)])
