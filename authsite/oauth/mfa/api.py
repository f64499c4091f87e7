"""The JSON views with which a client prepares a second step or a sign-in by passkey."""

from typing import Annotated, Any, NotRequired, cast

from pydantic import Field
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.oauth.api import client_of, reject_query
from authsite.oauth.errors import (
    MFA_TOKEN,
    ClientBody,
    InvalidClient,
    InvalidGrant,
    ParametersInQuery,
    TwoClientAuthentications,
    UnauthorizedClient,
)
from authsite.oauth.grants.sign_in import by_passkey
from authsite.oauth.grants.table import check_allowed
from authsite.platform.http.api_metadata import CLIENT_BASIC, Operation, response_body
from authsite.platform.http.bodies import Body, Token
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request

from . import service
from .service import NoMailCode, NothingToEnroll, PasskeysOff


class PendingLoginBody(Body):
    description = "A login that was answered with `mfa_required`."

    mfa_token: Annotated[Token, Field(examples=[MFA_TOKEN])]
    """The `mfa_token` of that answer."""


class PasskeyClient(ClientBody):
    description = "The client at which a user signs in, as at the token endpoint."


@response_body("A secret for an authenticator app, not stored yet.")
class LoginEnrollmentAnswer(TypedDict):
    secret: Annotated[str, Field(examples=["JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"])]
    """The secret in base32, for an app that cannot read the picture."""
    otpauth_uri: Annotated[str, Field(examples=["otpauth://totp/Example:ann%40example.com"])]
    """What the picture contains; a link that opens an app on the same device."""
    qr_svg: Annotated[str, Field(examples=["<svg></svg>"])]
    """The picture, as SVG: show it on white."""
    enrollment: Annotated[str, Field(pattern="^et_", examples=["et_q83vEjRWeJCrze8SNFZ4kKvN"])]
    """To send with the first code, within 15 minutes."""


@response_body("The code is on its way.")
class CodeSent(TypedDict):
    message: Annotated[str, Field(examples=["We have sent you a code."])]
    """Human-readable."""


@response_body("Options for `PublicKeyCredential.parseRequestOptionsFromJSON`.")
class PasskeyOptionsAnswer(TypedDict):
    challenge: Annotated[str, Field(examples=["q83vEjRWeJCrze8SNFZ4kKvN"])]
    """In base64url; valid for 10 minutes, once, for this client."""
    rpId: Annotated[str, Field(examples=["auth.example.com"])]
    """The domain that the passkeys belong to."""
    userVerification: Annotated[str, Field(examples=["required"])]
    """`required`: the device checks who uses it."""
    timeout: NotRequired[int]
    """In milliseconds."""
    allowCredentials: NotRequired[list[dict[str, Any]]]
    """Empty: the user chooses a passkey."""


@view_config(
    route_name="authsite.mfa.enroll",
    request_method="POST",
    body=PendingLoginBody,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Add an authenticator app at a login",
    {200: LoginEnrollmentAnswer},
    description=(
        "Where a login was answered with `mfa_enroll` true. Show the picture and the secret, and "
        "send the `enrollment` with the first code of the app by the grant `…:mfa`."
    ),
    errors=(InvalidGrant, NothingToEnroll),
)
def enroll(request: Request) -> LoginEnrollmentAnswer:
    """A new secret for the user of a pending login."""
    body: PendingLoginBody = request.authsite.validated
    made = service.begin_enrollment(request.authsite.ctx, body.mfa_token)
    return cast(LoginEnrollmentAnswer, made._asdict())


@view_config(
    route_name="authsite.mfa.email",
    request_method="POST",
    body=PendingLoginBody,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Have a code mailed at a login",
    {202: CodeSent},
    description=(
        "Where `email` is among the `mfa_methods` of a login. The code is then sent by the "
        "grant `…:mfa` with the `mfa_method` `email`. Over the limits no mail goes out, and the "
        "answer is the same."
    ),
    errors=(InvalidGrant, NoMailCode),
)
def send_code(request: Request) -> CodeSent:
    """Mail a code to the user of a pending login."""
    body: PendingLoginBody = request.authsite.validated
    service.send(request.authsite.ctx, body.mfa_token)
    request.response.status_int = 202
    return {"message": "We have sent a code to the user's e-mail address."}


@view_config(
    route_name="authsite.passkeys.options",
    request_method="POST",
    body=PasskeyClient,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Options for a sign-in by passkey",
    {200: PasskeyOptionsAnswer},
    description=(
        "For a client that may use the grant `…:passkey`. They are valid for 10 minutes, once, for "
        "this client."
    ),
    errors=(
        InvalidClient(headers={"WWW-Authenticate": 'Basic realm="authsite"'}),
        UnauthorizedClient,
        PasskeysOff,
        TwoClientAuthentications,
        ParametersInQuery,
        TooManyAttempts(60),
    ),
    credentials=CLIENT_BASIC,
)
def passkey_options(request: Request) -> PasskeyOptionsAnswer:
    """Authenticate the client, and return a new challenge for it."""
    body: PasskeyClient = request.authsite.validated
    reject_query(request)
    client = client_of(request, body)
    check_allowed(client, by_passkey)
    options = service.passkey_options(request.authsite.ctx, client.id)
    return cast(PasskeyOptionsAnswer, options)
