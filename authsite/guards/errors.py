"""Errors of the guards."""

from collections.abc import Iterable

from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import _

from .reasons import UNAUTHENTICATED, GuardReason


class NotAuthenticated(ApiError):
    summary = "The request has no valid access token (RFC 6750, section 3)."
    status = 401
    code = "unauthenticated"
    message = UNAUTHENTICATED
    listed = False

    def __init__(
        self, *, token_sent: bool, why: GuardReason | None = None, sent: str | None = None
    ) -> None:
        """``sent``: what the token looks like; without anything sent the request is not noted."""
        self.why, self.noted = why, token_sent or sent is not None
        self.reason = why.meaning if why else None
        self.noted_by_task = why is not GuardReason.NOT_ACTIVE
        self.shown = {"sent": sent} if sent else {}
        error = ', error="invalid_token"' if token_sent else ""
        super().__init__(headers={"WWW-Authenticate": f'Bearer realm="authsite"{error}'})


class InsufficientScope(ApiError):
    """The token is valid but lacks a scope that the route needs (RFC 6750, section 3.1)."""

    status = 403
    code = "insufficient_scope"

    def __init__(self, scope: str = "", sent: Iterable[str] = ()) -> None:
        """``scope``: empty where an application of a third party needs one and none is named.

        ``sent``: the scopes of the token.
        """
        named = f', scope="{scope}"' if scope else ""
        super().__init__(headers={"WWW-Authenticate": f'Bearer error="insufficient_scope"{named}'})
        why = GuardReason.SCOPE if scope else GuardReason.SCOPE_UNNAMED
        self.because(why, expected=scope, sent=" ".join(sent))


class ClientRequired(ApiError):
    summary = "The token acts for a user, and the endpoint requires a client."
    status = 403
    code = "client_required"
    why = GuardReason.CLIENT
    message = why.developer


class GroupRequired(ApiError):
    summary = "The user is not in the group that the endpoint requires, or there is no user."
    status = 403
    code = "group_required"
    why = GuardReason.GROUP
    message = why.person


class LoginRequired(ApiError):
    summary = "The token is a personal access token, and the endpoint requires that of a login."
    status = 403
    code = "login_required"
    why = GuardReason.LOGIN
    message = why.developer


class ApplicationNotAllowed(ApiError):
    summary = (
        "The token is that of an application of a third party, or of a first-party application "
        "without the scope `account`."
    )
    status = 403
    code = "login_required"
    why = GuardReason.APPLICATION
    message = why.developer


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
    message = UNAUTHENTICATED
    listed = False
    noted = False


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
