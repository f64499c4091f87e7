"""Errors of the OAuth endpoints (RFC 6749, section 5.2)."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from authsite.platform.audit.events import Event
from authsite.platform.denied_requests.reason import DenialReason
from authsite.platform.http.bodies import Body, MaybeEmpty
from authsite.platform.http.errors import ApiError, FieldError
from authsite.platform.i18n import translate

from .reasons import ClientReason, TokenReason


class InvalidClient(ApiError):
    summary = "The client is unknown or disabled, or its secret is missing or wrong."
    status = 401
    code = "invalid_client"
    audit_event = Event.CLIENT_REJECTED
    message = ClientReason.UNKNOWN.developer

    def __init__(
        self, why: ClientReason | None = None, *, headers: Mapping[str, str] | None = None
    ) -> None:
        """``why``: which check failed, for the operator alone."""
        super().__init__(headers=headers)
        if why:
            self.why, self.reason = why, why.meaning


class InvalidGrant(ApiError):
    summary = (
        "The user's credentials are wrong, or the refresh token is invalid, expired or revoked."
    )
    status = 400
    code = "invalid_grant"
    message = TokenReason.REFRESH_ENDED.developer


class TokenReused(InvalidGrant):
    """A used refresh token was sent again; the revocation of its family is committed."""

    keeps_writes = True
    why = TokenReason.REFRESH_REUSED


class NotIssued(InvalidGrant):
    """What was checked has changed before the tokens were stored."""

    why = TokenReason.RACE


class InvalidCode(InvalidGrant):
    """An authorization code that gives no tokens; ``why`` says more to the operator alone."""

    def __init__(self, why: DenialReason, **shown: str) -> None:
        super().__init__()
        self.because(why, **shown)
        self.reason = why.meaning


class ExpiredCode(InvalidCode):
    """A code that was never used, and is too old now."""


class ConfirmationRequired(InvalidGrant):
    """The client is for users who have confirmed the e-mail address."""

    why = TokenReason.CONFIRMATION
    message = why.developer


class GroupRequired(InvalidGrant):
    """The client is for the members of a group, and the user is not one; see `clients.groups`."""

    why = TokenReason.GROUP

    def __init__(self) -> None:
        text = self.why.person
        super().__init__(text, details=[FieldError("group_required", None, text)])


class UnsupportedGrantType(ApiError):
    summary = "The grant type is not supported."
    status = 400
    code = "unsupported_grant_type"

    def __init__(self, known: Collection[str]) -> None:
        *others, last = known
        super().__init__()
        self.because(TokenReason.GRANT_UNKNOWN, expected=f"{', '.join(others)} and {last}")


class UnauthorizedClient(ApiError):
    summary = "This type of client may not use the grant type."
    status = 400
    code = "unauthorized_client"
    why = TokenReason.GRANT_NOT_ALLOWED
    message = why.developer


class InvalidScope(ApiError):
    """``refused``: the names that the caller may not have; ``allowed``: those that it may.

    Where the sign-in is too weak, the latter is the level that it takes.
    """

    summary = "The scope is unknown, not allowed for the client, or wider than the granted one."
    status = 400
    code = "invalid_scope"
    message = "Ask only for scopes that this client (or this refresh token) was granted."

    def __init__(
        self,
        refused: Iterable[str] = (),
        allowed: str = "",
        *,
        why: TokenReason = TokenReason.SCOPE,
    ) -> None:
        super().__init__()
        if names := " ".join(refused):
            self.because(why, sent=names, refused=names, expected=allowed or "none")


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
    why = TokenReason.LOGIN


class MissingParameter(ApiError):
    """A parameter that this grant requires is missing or empty."""

    status = 400
    code = "invalid_request"

    def __init__(self, names: Iterable[str]) -> None:
        """``names``: all that the grant requires."""
        super().__init__()
        self.because(TokenReason.PARAMETER_MISSING, expected=" and ".join(names))


class TwoClientAuthentications(ApiError):
    summary = "The client sends credentials by HTTP Basic and in the body (RFC 6749, section 2.3)."
    status = 400
    code = "invalid_request"
    why = ClientReason.TWO_WAYS
    message = why.developer


class ParametersInQuery(ApiError):
    summary = "A parameter is in the query string, which logs record (RFC 6749, section 2.3.1)."
    status = 400
    code = "invalid_request"
    why = ClientReason.QUERY
    message = why.developer


# The errors of values that a client or a resource cannot have.


class InvalidValue(ValueError):
    """A client or a resource cannot have a value; ``message`` says what to give instead.

    The message is one of `authsite.platform.i18n`, which pages show in their language. As a text
    the error is English, after the name of the ``field`` if it has one: for commands, and for the
    programs that register clients.
    """

    def __init__(self, message: str, field: str | None = None) -> None:
        text = translate(message)
        super().__init__(f"{field}: {text}" if field else text)
        self.message, self.field = message, field

    def of(self, field: str) -> "InvalidValue":
        """The error with its field, if it has none yet; the text stays."""
        self.field = self.field or field
        return self


class InvalidValues(ValueError):
    """A client cannot have several values; ``errors`` has one for each field."""

    def __init__(self, errors: Sequence[InvalidValue]) -> None:
        super().__init__("; ".join(map(str, errors)))
        self.errors = tuple(errors)


def errors_of(checks: Mapping[str, Callable[[], object]]) -> list[InvalidValue]:
    """The errors with which the checks of some fields raise ValueError, by their names."""
    found = []
    for field, check in checks.items():
        try:
            check()
        except InvalidValue as error:
            found.append(error.of(field))
        except ValueError as error:
            found.append(InvalidValue(str(error)).of(field))
    return found


def require_valid(errors: Sequence[InvalidValue]) -> None:
    """Raise the one error, or several as `InvalidValues`, if there are any."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise InvalidValues(errors)


# Parameters that several OAuth endpoints read, with their examples in the API document.


ACCESS_TOKEN = "at_q83vEjRWeJCrze8SNFZ4kKvN"
AUTHORIZATION_CODE = "ac_N8tGz3NFZ4kKvN7xIq83vEjR"
DEVICE_CODE = "dc_3vEjRN8tGz3NFZ4kKvN7xIq8"
RESOURCE = "https://mcp.example.com/"
REFRESH_TOKEN = "rt_EjRWeJCrze8SNFZ4kKvN7xI"
MFA_TOKEN = "mt_xIq83vEjRWeJCrze8SNFZ4kKvN7N8tGz3NFZ4kKvN7x"
CREDENTIAL = '{"id":"AAEC","rawId":"AAEC","type":"public-key","response":{}}'

Name = Annotated[str, Field(max_length=320)]
Secret = Annotated[str, Field(max_length=4096, json_schema_extra={"format": "password"})]
MAX_TOKEN = 4096  # characters: a JSON Web Token with groups is the longest
TokenText = Annotated[str, Field(max_length=MAX_TOKEN)]
MAX_CREDENTIAL = 16 * 1024  # characters
Credential = Annotated[
    str,
    BeforeValidator(lambda value: as_json_text(value)),
    Field(max_length=MAX_CREDENTIAL, examples=[CREDENTIAL]),
]
"""What a browser returns for a passkey: JSON text, or in a JSON body the object itself."""


def as_json_text(value: object) -> object:
    """The JSON text of an object, and any other value as it is."""
    if not isinstance(value, dict):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class ClientBody(Body):
    """The parameters by which a client authenticates (RFC 6749, section 2.3.1), in a form only."""

    form_only: ClassVar[bool] = True

    client_id: MaybeEmpty | None = None
    """The client's id, unless it comes by HTTP Basic."""
    client_secret: MaybeEmpty | None = None
    """The client's secret, unless it comes by HTTP Basic."""
