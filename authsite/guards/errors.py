"""Errors of the guards."""

from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import _

MESSAGE = "An exception occurred when trying to authenticate the user."
_NO_SCOPE = (
    "This endpoint is not open to applications of third parties: it names no scope that they could "
    "have. Its operator has to name one."
)


class NotAuthenticated(ApiError):
    summary = "The request has no valid access token (RFC 6750, section 3)."
    status = 401
    code = "unauthenticated"
    message = MESSAGE
    listed = False

    def __init__(self, *, token_sent: bool, reason: str | None = None) -> None:
        self.reason = reason
        error = ', error="invalid_token"' if token_sent else ""
        super().__init__(headers={"WWW-Authenticate": f'Bearer realm="authsite"{error}'})


class InsufficientScope(ApiError):
    """The token is valid but lacks a scope that the route needs (RFC 6750, section 3.1)."""

    status = 403
    code = "insufficient_scope"

    def __init__(self, scope: str = "") -> None:
        """``scope``: empty where an application of a third party needs one and none is named."""
        message = f"This endpoint needs a token with the scope {scope}." if scope else _NO_SCOPE
        named = f', scope="{scope}"' if scope else ""
        super().__init__(
            message, headers={"WWW-Authenticate": f'Bearer error="insufficient_scope"{named}'}
        )


class ClientRequired(ApiError):
    summary = "The token acts for a user, and the endpoint requires a client."
    status = 403
    code = "client_required"
    message = (
        "This endpoint needs a token of a client that acts for itself, and this one acts for a "
        "user. Get one with grant_type=client_credentials."
    )


class GroupRequired(ApiError):
    summary = "The user is not in the group that the endpoint requires, or there is no user."
    status = 403
    code = "group_required"
    message = _(
        "This is only for the members of a group, and your account is not in it. Ask the people "
        "who run this site to add you."
    )


class LoginRequired(ApiError):
    summary = "The token is a personal access token, and the endpoint requires that of a login."
    status = 403
    code = "login_required"
    message = (
        "A personal access token cannot be used here. Log in, and send the access token of that "
        "login."
    )


class ApplicationNotAllowed(ApiError):
    summary = (
        "The token is that of an application of a third party, or of a first-party application "
        "without the scope `account`."
    )
    status = 403
    code = "login_required"
    message = (
        "This application may not manage the account. Log in with an application of this service "
        "itself, or with a first-party application that asks for the scope account."
    )


class AddressNotConfirmed(ApiError):
    """Base class: the user has to confirm the e-mail address first.

    ``link_page`` is the path or URL of the page that mails the link; None if no browser asks.
    """

    status = 403
    link_page: str | None = None


class EmailNotVerified(AddressNotConfirmed):
    summary = "Variant A: the endpoint requires a verified e-mail address."
    code = "email_not_verified"
    message = _("Verify your e-mail address first: request a new link and open it.")


class EmailNotConfirmed(AddressNotConfirmed):
    summary = (
        "Variant B, or `registration = domains`: the user has not confirmed the e-mail address."
    )
    code = "email_not_confirmed"
    message = _("Confirm your e-mail address first: request a new link and open it.")


class NotSignedIn(ApiError):
    """A script sent a request without an active session to a route with the web guard."""

    summary = "The request has no active browser session."
    status = 401
    code = "unauthenticated"
    message = MESSAGE
    listed = False


class InvalidRequirement(ApiError):
    """Forward auth: the query requires something that no credential could be checked for."""

    summary = "A query parameter is unknown or repeated, or has a value that it cannot have."
    status = 400
    code = "invalid_request"


class LoginPageGuarded(ApiError):
    """Forward auth: the browser would be redirected to the login page without end."""

    summary = "The proxy guards the login page itself."
    status = 403
    code = "login_page_guarded"
    message = (
        "The proxy asks for a login before it shows the login page. Let authsite's own pages pass, "
        "and set base-url to the address of authsite."
    )
