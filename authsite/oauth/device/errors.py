"""Errors of the device grant (RFC 8628, section 3.5), and of the page for the code."""

from authsite.oauth.errors import InvalidCode
from authsite.platform.http.errors import ApiError, FieldError, ValidationFailed
from authsite.platform.i18n import _


class AuthorizationPending(ApiError):
    summary = "The person has not answered yet: ask again after `interval` seconds."
    status = 400
    code = "authorization_pending"
    message = "The person has not entered the code yet. Ask again after the interval."


class SlowDown(ApiError):
    summary = "The device asked too early: from now on the interval is 5 seconds longer."
    status = 400
    code = "slow_down"
    message = "You asked too early. From now on, wait 5 seconds longer between two requests."


class AccessDenied(ApiError):
    summary = "The person did not allow the device to sign them in."
    status = 400
    code = "access_denied"
    message = "The person did not allow this. Begin again only if they ask for it."


class ExpiredToken(ApiError):
    summary = "The device code has expired."
    status = 400
    code = "expired_token"
    message = "The device code has expired. Begin again at /v1/oauth/device, and show the new code."


class InvalidDeviceCode(InvalidCode):
    """A device code that gives no tokens; ``reason`` is for the operator alone."""

    message = (
        "The device code is not valid: it was used before, belongs to another client, or what it "
        "stood for has ended. Begin again at /v1/oauth/device."
    )


class UserCodeRefused(ValidationFailed):
    """No device waits with this user code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(details=[FieldError(code, "user_code", message)])


def wrong_user_code() -> UserCodeRefused:
    """No device has shown this code."""
    message = _("This code is not right. Compare it with the one on the other screen.")
    return UserCodeRefused("wrong_user_code", message)


def expired_user_code() -> UserCodeRefused:
    """The device waits no longer."""
    message = _("This code has expired. Begin again on the other device, and enter its new code.")
    return UserCodeRefused("expired_user_code", message)


def answered_user_code() -> UserCodeRefused:
    """The code was entered and answered before."""
    message = _(
        "This code was used before. Begin again on the other device, and enter its new code."
    )
    return UserCodeRefused("answered_user_code", message)
