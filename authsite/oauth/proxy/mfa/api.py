"""The JSON views of the proxy endpoints for a second step, and for a sign-in by passkey."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, cast

from pydantic import Field
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.oauth.api import TokenAnswer
from authsite.oauth.errors import (
    CREDENTIAL,
    MFA_TOKEN,
    Credential,
    InvalidGrant,
    InvalidScope,
    TokenText,
)
from authsite.oauth.mfa.api import PasskeyOptionsAnswer
from authsite.oauth.mfa.service import MethodNotOffered, MfaRequired, MissingProof, PasskeysOff
from authsite.oauth.proxy import service
from authsite.oauth.proxy.api import CLIENT_ERRORS, COOKIES, ClientPath, logged_in
from authsite.oauth.proxy.service import ForeignOrigin
from authsite.platform.http.api_metadata import Operation
from authsite.platform.http.bodies import Body, MaybeEmpty, Token
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request


class SecondStepBody(Body):
    description = "A further proof of a login that was answered with `mfa_required`."

    examples: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "a login goes on with a code": {
            "mfa_token": MFA_TOKEN,
            "mfa_method": "totp",
            "code": "123456",
        },
    }

    mfa_token: Token
    """The `mfa_token` of that answer."""
    mfa_method: Token
    """One of its `mfa_methods`: `totp`, `recovery_code`, `passkey` or `email`."""
    code: TokenText = ""
    """The code, with every method but `passkey`."""
    credential: Credential = ""
    """With a passkey, what the browser's `credential.toJSON()` returns: the object, or its JSON
    text, of 16 KiB at most."""
    enrollment: Annotated[str, Field(max_length=1024)] = ""
    """With the first code of a new authenticator app, the `enrollment` that `/v1/mfa/enroll`
    returned."""


class PasskeyLoginBody(Body):
    description = "The passkey with which a user signs in."

    examples: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "a user signs in with a passkey": {"credential": CREDENTIAL},
    }

    credential: Annotated[Credential, Field(min_length=1)]
    """What the browser's `credential.toJSON()` returns: the object, or its JSON text, of 16 KiB at
    most."""
    scope: MaybeEmpty | None = None
    """Scopes, separated by spaces. The default is the client's."""


@view_config(
    route_name="authsite.proxy.mfa",
    request_method="POST",
    cross_site_error=ForeignOrigin,
    body=SecondStepBody,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Go on with a login for a first-party client by a second step",
    {200: TokenAnswer},
    headers={200: COOKIES},
    description="Like the login of this client, with its cookies and the same rule for origins.",
    errors=(
        InvalidGrant,
        MfaRequired,
        MethodNotOffered,
        MissingProof("code"),
        ForeignOrigin,
        TooManyAttempts(60),
        *CLIENT_ERRORS,
    ),
    path=ClientPath,
)
def second_step(request: Request) -> TokenAnswer:
    """Give a further proof; set the refresh cookies and the device cookie."""
    ctx = request.authsite.ctx
    body: SecondStepBody = request.authsite.validated
    client = service.authenticate_configured(ctx, request.matchdict["client"])
    given = {"code": body.code, "credential": body.credential, "enrollment": body.enrollment}
    pair = service.go_on(ctx, client, body.mfa_token, body.mfa_method, given)
    return logged_in(request, pair, None)


@view_config(
    route_name="authsite.proxy.passkey_options",
    request_method="POST",
    cross_site_error=ForeignOrigin,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Options for a sign-in by passkey to a first-party client",
    {200: PasskeyOptionsAnswer},
    description="For `PublicKeyCredential.parseRequestOptionsFromJSON`. They are valid for 10"
    " minutes, once, for this client.",
    errors=(PasskeysOff, ForeignOrigin, *CLIENT_ERRORS),
    path=ClientPath,
)
def passkey_options(request: Request) -> PasskeyOptionsAnswer:
    """A new challenge for this client."""
    ctx = request.authsite.ctx
    client = service.authenticate_configured(ctx, request.matchdict["client"])
    options = service.passkey_options(ctx, client)
    return cast(PasskeyOptionsAnswer, options)


@view_config(
    route_name="authsite.proxy.passkey",
    request_method="POST",
    cross_site_error=ForeignOrigin,
    body=PasskeyLoginBody,
    renderer="json",
    permission=NO_PERMISSION_REQUIRED,
)
@Operation(
    "Sign a user in by passkey to a first-party client",
    {200: TokenAnswer},
    headers={200: COOKIES},
    description="Like the login of this client, with its cookies and the same rule for origins.",
    errors=(
        InvalidGrant,
        MfaRequired,
        InvalidScope,
        PasskeysOff,
        ForeignOrigin,
        TooManyAttempts(60),
        *CLIENT_ERRORS,
    ),
    path=ClientPath,
)
def sign_in_by_passkey(request: Request) -> TokenAnswer:
    """Sign in with a passkey; set the refresh cookies and the device cookie."""
    ctx = request.authsite.ctx
    body: PasskeyLoginBody = request.authsite.validated
    client = service.authenticate_configured(ctx, request.matchdict["client"])
    pair = service.sign_in_by_passkey(ctx, client, body.credential, body.scope)
    return logged_in(request, pair, body.scope)
