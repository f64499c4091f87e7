"""Errors of the device grant (RFC 8628, section 3.5), and of the page for the code."""

from authsite.oauth.errors import InvalidCode
from authsite.oauth.token_reasons import NOT_DEVICE_CODE, DeviceReason
from authsite.platform.denied_requests.reason import DenialReason
from authsite.platform.http.errors import ApiError, FieldError, ValidationFailed


class AuthorizationPending(ApiError):
    summary = "The person has not answered yet: ask again after `interval` seconds."
    status = 400
    code = "authorization_pending"
    noted = False  # the device asks until there is an answer
    message = "The person has not entered the code yet. Ask again after the interval."


class SlowDown(ApiError):
    summary = "The device asked too early: from now on the interval is 5 seconds longer."
    status = 400
    code = "slow_down"
    why = DeviceReason.SLOW_DOWN
    message = why.developer


class AccessDenied(ApiError):
    summary = "The person did not allow the device to sign them in."
    status = 400
    code = "access_denied"
    why = DeviceReason.ACCESS_DENIED
    message = why.developer


class ExpiredToken(ApiError):
    summary = "The device code has expired."
    status = 400
    code = "expired_token"
    why = DeviceReason.EXPIRED
    message = why.developer


class InvalidDeviceCode(InvalidCode):
    """A device code that gives no tokens; ``why`` says more to the operator alone."""

    def __init__(self, why: DenialReason) -> None:
        super().__init__(why)
        self.message = NOT_DEVICE_CODE


class UserCodeRefused(ValidationFailed):
    """No device waits with this user code."""

    def __init__(self, why: DeviceReason, code: str) -> None:
        self.why = why
        super().__init__(details=[FieldError(code, "user_code", why.person)])


def wrong_user_code() -> UserCodeRefused:
    """No device has shown this code."""
    return UserCodeRefused(DeviceReason.USER_CODE_WRONG, "wrong_user_code")


def expired_user_code() -> UserCodeRefused:
    """The device waits no longer."""
    return UserCodeRefused(DeviceReason.USER_CODE_EXPIRED, "expired_user_code")


def answered_user_code() -> UserCodeRefused:
    """The code was entered and answered before."""
    return UserCodeRefused(DeviceReason.USER_CODE_ANSWERED, "answered_user_code")
