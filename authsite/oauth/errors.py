"""Errors of the OAuth endpoints (RFC 6749, section 5.2)."""

from collections.abc import Collection, Iterable, Mapping

from authsite.platform.audit.events import Event
from authsite.platform.http.errors import ApiError, FieldError
from authsite.platform.i18n import _

_GROUP = _(
    "Your account may not use this application. Ask the people who run this site for access."
)


class InvalidClient(ApiError):
    summary = "The client is unknown or disabled, or its secret is missing or wrong."
    status = 401
    code = "invalid_client"
    audit_event = Event.CLIENT_REJECTED
    message = "Client authentication failed"

    def __init__(
        self, reason: str | None = None, *, headers: Mapping[str, str] | None = None
    ) -> None:
        """``reason``: which check failed, for the operator alone."""
        self.reason = reason
        super().__init__(headers=headers)


class InvalidGrant(ApiError):
    summary = (
        "The user's credentials are wrong, or the refresh token is invalid, expired or revoked."
    )
    status = 400
    code = "invalid_grant"
    message = (
        "Wrong credentials, or the refresh token has expired or was revoked. Log in again to get "
        "new tokens."
    )


class TokenReused(InvalidGrant):
    """A used refresh token was sent again; the revocation of its family is committed."""

    keeps_writes = True


class NotIssued(InvalidGrant):
    """What was checked has changed before the tokens were stored."""


class InvalidCode(InvalidGrant):
    """An authorization code that gives no tokens; ``reason`` is for the operator alone."""

    message = (
        "The authorization code is not valid: it was used before, has expired, or belongs to "
        "another request or client. Send the user to /oauth/authorize again."
    )

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__()


class ExpiredCode(InvalidCode):
    """A code that was never used, and is too old now."""


class ConfirmationRequired(InvalidGrant):
    """The client is for users who have confirmed the e-mail address."""

    message = (
        "This application is for users who have confirmed the e-mail address. Send the user to "
        "/oauth/authorize again."
    )


class GroupRequired(InvalidGrant):
    """The client is for the members of a group, and the user is not one; see `client_groups`."""

    def __init__(self) -> None:
        super().__init__(_GROUP, details=[FieldError("group_required", None, _GROUP)])


class UnsupportedGrantType(ApiError):
    summary = "The grant type is not supported."
    status = 400
    code = "unsupported_grant_type"

    def __init__(self, known: Collection[str]) -> None:
        *others, last = known
        super().__init__(f"Use one of the grant types {', '.join(others)} and {last}.")


class UnauthorizedClient(ApiError):
    summary = "This type of client may not use the grant type."
    status = 400
    code = "unauthorized_client"
    message = "This type of client may not use this grant type."


class InvalidScope(ApiError):
    summary = "The scope is unknown, not allowed for the client, or wider than the granted one."
    status = 400
    code = "invalid_scope"
    message = "Ask only for scopes that this client (or this refresh token) was granted."


class InvalidTarget(ApiError):
    summary = "The resource is unknown, or is not the one of the refresh token (RFC 8707)."
    status = 400
    code = "invalid_target"
    message = (
        "Ask for one resource that is registered here, by its URI, and at a refresh for the same "
        "as before; or leave out resource."
    )


class LoginFailed(InvalidGrant):
    """Wrong name, wrong password or a disabled user; the audit event is committed."""

    keeps_writes = True


class MissingParameter(ApiError):
    """A parameter that this grant requires is missing or empty."""

    status = 400
    code = "invalid_request"

    def __init__(self, names: Iterable[str]) -> None:
        """``names``: all that the grant requires."""
        super().__init__(f"This grant type needs {' and '.join(names)} in the form body.")


class TwoClientAuthentications(ApiError):
    summary = "The client sends credentials by HTTP Basic and in the body (RFC 6749, section 2.3)."
    status = 400
    code = "invalid_request"
    message = "Send the client's credentials by HTTP Basic or in the body, not both."


class ParametersInQuery(ApiError):
    summary = "A parameter is in the query string, which logs record (RFC 6749, section 2.3.1)."
    status = 400
    code = "invalid_request"
    message = "Send all parameters in the form body; none may be in the query."
