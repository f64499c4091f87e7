"""What can go wrong at a proxy, besides what the grants raise."""

from authsite.http.errors import ApiError


class UnknownProxy(ApiError):
    """No client of this name is configured."""

    status = 404
    code = "not_found"
    message = (
        "No first-party client of this name is configured. Set clients.<name>.id and "
        "clients.<name>.secret."
    )


class ForeignOrigin(ApiError):
    """A refresh by cookie from a page that is neither ours nor in `cors-origins`."""

    status = 403
    code = "access_denied"
    message = (
        "A refresh by cookie is only for our own pages. Send refresh_token in the body, or have "
        "the origin added to cors-origins."
    )


class WhichIdentifier(ApiError):
    """None, or more than one, of the fields that may carry the login identifier."""

    status = 400
    code = "invalid_request"


class NoRefreshToken(ApiError):
    """Neither a parameter nor a cookie carries a refresh token."""

    status = 400
    code = "invalid_request"
    message = "Send refresh_token in the body, or the cookie that login set."
