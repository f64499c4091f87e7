"""What can go wrong at the OAuth endpoints (RFC 6749, section 5.2)."""

from authsite.http.errors import ApiError


class InvalidClient(ApiError):
    """Wrong, unknown or disabled client, or no secret: one and the same answer."""

    status = 401
    code = "invalid_client"
    message = "Client authentication failed"


class InvalidGrant(ApiError):
    """Wrong user credentials, or a refresh token that is not (or no longer) good."""

    status = 400
    code = "invalid_grant"
    message = (
        "The credentials or the refresh token are not valid, or no longer so. Log in again to "
        "get new tokens."
    )


class TokenReused(InvalidGrant):
    """A spent refresh token came back: its family was revoked, and stays revoked."""

    keeps_writes = True


class UnsupportedGrantType(ApiError):
    """No such grant here."""

    status = 400
    code = "unsupported_grant_type"
    message = "Use one of the grant types password, client_credentials and refresh_token."


class UnauthorizedClient(ApiError):
    """The grant is not one that this type of client may use."""

    status = 400
    code = "unauthorized_client"
    message = "This type of client may not use this grant type."


class InvalidScope(ApiError):
    """A scope that is unknown, not the client's, or wider than what was granted."""

    status = 400
    code = "invalid_scope"
    message = "Ask only for scopes that this client (or this refresh token) was granted."


class LoginRefused(InvalidGrant):
    """Wrong name, wrong password or a disabled user; the failed login stays on record."""

    keeps_writes = True


class MissingParameter(ApiError):
    """A parameter that this grant needs was not sent, or was empty."""

    status = 400
    code = "invalid_request"

    def __init__(self, names: str) -> None:
        super().__init__(f"This grant type needs {names} in the form body.")


class TwoClientAuthentications(ApiError):
    """HTTP Basic and credentials in the body at once (RFC 6749, section 2.3)."""

    status = 400
    code = "invalid_request"
    message = "Send the client's credentials by HTTP Basic or in the body, not both."


class ParametersInQuery(ApiError):
    """Parameters in the address, where logs and histories keep them (RFC 6749, section 2.3.1)."""

    status = 400
    code = "invalid_request"
    message = "Send all parameters in the form body; none may stand in the address."
