"""Exceptions: those of the verifier are responses, those of the client tell what authsite answered.

AuthsiteError
  VerificationError     MissingToken, InvalidToken, UserRequired, ClientRequired,
                        EmailNotVerified, InsufficientScope, Unavailable
  Unreachable           no usable response: network, TLS, timeout
  ApiError              an error response; a subclass for each code or status
  LoginFailed           a sign-in with a code that ended without a user
"""

import json
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

REALM = "authsite"


class AuthsiteError(Exception):
    """Base class of all exceptions of this package."""


class VerificationError(AuthsiteError):
    """A request that must not pass. ``status``, ``headers`` and ``body`` are the response.

    The body has the format of authsite's own guard.
    """

    status: ClassVar[int]
    code: ClassVar[str | None] = None
    message: ClassVar[str] = "An exception occurred when trying to authenticate the user."
    challenge: str | None = f'Bearer realm="{REALM}"'

    def __init__(self) -> None:
        super().__init__(self.message)

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The headers of the response, without its length."""
        found = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]
        if self.challenge:
            found.append(("WWW-Authenticate", self.challenge))
        return found

    @property
    def body(self) -> bytes:
        """The body of the response: JSON in UTF-8."""
        entry = {"code": self.code, "field": None, "message": self.message}
        errors = [entry] if self.code else []
        return json.dumps({"message": self.message, "errors": errors}).encode()


class MissingToken(VerificationError):
    """The request has no bearer token; the challenge has no error code (RFC 6750, section 3.1)."""

    status = 401


class InvalidToken(VerificationError):
    """The token is malformed, unknown, expired or revoked."""

    status = 401
    challenge = f'{MissingToken.challenge}, error="invalid_token"'


class UserRequired(VerificationError):
    """The token acts for a client, and the request needs a user."""

    status = 403
    code = "user_required"
    message = "This endpoint needs a token that acts for a user; this one acts for a client."
    challenge = None


class ClientRequired(VerificationError):
    """The token acts for a user, and the request needs a client that acts for itself."""

    status = 403
    code = "client_required"
    message = (
        "This endpoint needs a token of a client that acts for itself, and this one acts for a "
        "user. Get one with grant_type=client_credentials."
    )
    challenge = None


class EmailNotVerified(VerificationError):
    """The user has not confirmed the e-mail address, which may belong to another person."""

    status = 403
    code = "email_not_verified"
    message = "Verify your e-mail address first: request a new link and open it."
    challenge = None


class InsufficientScope(VerificationError):
    """The token is active, and lacks a scope that the request needs."""

    status = 403
    code = "insufficient_scope"
    message = "The access token does not have the scope that this request needs."

    def __init__(self, scope: str) -> None:
        super().__init__()
        needed = f', scope="{scope}"' if scope else ""
        self.challenge = f'{MissingToken.challenge}, error="insufficient_scope"{needed}'


class Unavailable(VerificationError):
    """authsite could not be asked, so nothing is let through; ``retry_after`` is in seconds."""

    status = 503
    code = "temporarily_unavailable"
    message = "The authentication service is not available at the moment. Try again."
    challenge = None

    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after

    @property
    def headers(self) -> list[tuple[str, str]]:
        return [*super().headers, ("Retry-After", str(self.retry_after))]


class Unreachable(AuthsiteError):
    """There is no usable response: the network or TLS failed, it took too long, it was too large.

    After a request that changes something, authsite may have changed it.
    """


class FieldError(NamedTuple):
    """One entry of ``errors`` in a response."""

    code: str
    field: str | None
    message: str


class ApiError(AuthsiteError):
    """An error response of authsite.

    ``code`` is OAuth's ``error`` (RFC 6749, section 5.2) or the first code of ``errors``.
    ``retry_after`` is in seconds, if the response has it. ``request_id`` finds the log line.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.errors: tuple[FieldError, ...] = ()
        self.retry_after: int | None = None
        self.request_id: str | None = None


class InvalidRequest(ApiError):
    """A parameter is missing, repeated or malformed."""


class InvalidClient(ApiError):
    """The client is unknown or disabled, or its secret is wrong."""


class InvalidGrant(ApiError):
    """The credentials of the user are wrong, or the refresh token is not active any more."""


class MfaRequired(ApiError):
    """The password was right, and a second step is needed: go on with `Client.second_step`.

    ``methods``: what the user can give, of ``passkey``, ``totp``, ``recovery_code`` and ``email``
    (first `Client.mail_code`). ``enroll``: the user must add a second factor now, with
    `Client.enroll`. ``expires_in`` is in seconds. ``passkey_options`` is for
    ``PublicKeyCredential.parseRequestOptionsFromJSON`` in a browser, where a passkey can be given.
    """

    mfa_token: str = ""
    expires_in: int = 0
    methods: tuple[str, ...] = ()
    enroll: bool = False
    passkey_options: Mapping[str, object] | None = None


class UnauthorizedClient(ApiError):
    """This type of client may not use the grant."""


class UnsupportedGrantType(ApiError):
    """authsite does not have the grant."""


class InvalidScope(ApiError):
    """The scope is unknown, or wider than the client or the login may have."""


class Unauthenticated(ApiError):
    """401: the access token was not accepted."""


class Forbidden(ApiError):
    """403: the token is active and may not do this; ``code`` says why."""


class ValidationFailed(ApiError):
    """422: ``errors`` has one entry for each field."""


class TooManyAttempts(ApiError):
    """429: a rate limit; ``retry_after`` says when to try again."""


class TemporarilyUnavailable(ApiError):
    """503: authsite is busy or lacks its database; ``retry_after`` says when to try again."""


class LoginFailed(AuthsiteError):
    """A sign-in with an authorization code or a device code that ended without a user.

    ``error`` is the code of RFC 6749, section 4.1.2.1, such as ``access_denied``, that of RFC 8628,
    ``expired_token``, or one of ours: ``unknown_state``, ``wrong_issuer``, ``invalid_answer``,
    ``invalid_id_token``, ``unmet_authentication_requirements`` (a sign-in of a lower level than
    ``acr_values`` asked for). ``description`` is for developers.
    """

    def __init__(self, error: str, description: str = "") -> None:
        super().__init__(f"{error}: {description}" if description else error)
        self.error = error
        self.description = description
