"""Errors of the proxy endpoints, besides those of the grants."""

from collections.abc import Sequence

from authsite.platform.audit.events import Event
from authsite.platform.http.errors import ApiError


class UnknownProxy(ApiError):
    summary = "No client of this name is configured."
    status = 404
    code = "not_found"
    message = "There is no client of this name. Check the name in the path."


class ForeignOrigin(ApiError):
    summary = (
        "The request may come from a page whose origin is neither authsite's nor in `cors-origins`."
    )
    status = 403
    code = "access_denied"
    audit_event = Event.PROXY_CROSS_ORIGIN
    message = (
        "This request may come from a page of another site, so it can neither use nor set the "
        "refresh cookie. Send it from our own pages or from an origin in cors-origins; outside a "
        "browser send Content-Type: application/json and no Origin header."
    )


class UnfitRefreshCookie(ApiError):
    summary = "On https: the refresh cookie comes without the witness cookie that fits it."
    status = 400
    code = "invalid_request"
    message = (
        "The refresh cookie was not set with the cookie __Host-authsite-refresh-<client> that this "
        "browser has, so it may come from another host. Log in again."
    )


class OneIdentifierRequired(ApiError):
    """None, or more than one, of the fields for the login name is filled."""

    status = 400
    code = "invalid_request"

    def __init__(self, fields: Sequence[str]) -> None:
        names = ", ".join(fields)
        super().__init__(f"Send the login name in exactly one of these fields: {names}.")


class NoRefreshToken(ApiError):
    summary = "Neither the body nor the cookie has a refresh token."
    status = 400
    code = "invalid_request"
    message = "Send refresh_token in the body, or the cookie that login set."
