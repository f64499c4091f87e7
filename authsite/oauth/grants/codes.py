"""The authorization code grant: an application signs a user in (RFC 6749, section 4.1)."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from authsite.oauth.clients.authentication import AuthenticatedClient
from authsite.oauth.codes.redeem import ClientWithCode, Sent, finder, redeem
from authsite.oauth.device.service import (
    AccessDenied,
    AuthorizationPending,
    ExpiredToken,
    SlowDown,
    poll,
)
from authsite.oauth.errors import (
    AUTHORIZATION_CODE,
    DEVICE_CODE,
    InvalidGrant,
    InvalidScope,
    InvalidTarget,
    TokenText,
)
from authsite.oauth.models import DEVICE_GRANT, MAX_URI
from authsite.oauth.oidc.errors import SigningUnavailable
from authsite.oauth.tokens.format import TokenPair
from authsite.platform.context import Context
from authsite.platform.http.bodies import Malformed

from .grant import Grant, GrantBody, grant

VERIFIER_RULE = "Send 43 to 128 characters: letters, digits, - . _ ~ (RFC 7636, section 4.1)."


class AuthorizationCodeGrant(GrantBody):
    description = "An application redeems the code of a sign-in (RFC 6749, section 4.1)."
    needs = ("code",)
    examples: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "a code is redeemed": {
            "grant_type": "authorization_code",
            "code": AUTHORIZATION_CODE,
            "redirect_uri": "https://app.example.com/callback",
            "code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        },
    }

    grant_type: Literal["authorization_code"]
    """`authorization_code`."""
    code: TokenText = ""
    """Grant `authorization_code`: the code that `/oauth/authorize` has sent to the client."""
    redirect_uri: Annotated[str, Field(max_length=MAX_URI)] = ""
    """Grant `authorization_code`: if it is sent, the same text as in the authorization request."""
    code_verifier: Annotated[
        str, Field(pattern=r"^([A-Za-z0-9._~-]{43,128})?$"), Malformed(VERIFIER_RULE)
    ] = ""
    """Grant `authorization_code`: the text whose SHA-256 was `code_challenge` (RFC 7636)."""


def _redeem(ctx: Context, found: ClientWithCode, body: AuthorizationCodeGrant) -> TokenPair:
    """Raises as `redeem`."""
    sent = Sent(body.redirect_uri, body.code_verifier, body.resource or "")
    return redeem(ctx, found, sent)


by_authorization_code = Grant(
    "authorization_code",
    AuthorizationCodeGrant,
    (InvalidGrant, InvalidScope, InvalidTarget, SigningUnavailable),
    find=lambda ctx, body: finder(ctx, body.code),
    issue=_redeem,
)


# The device code grant: a program without a browser asks for its tokens (RFC 8628, 3.4).


class DeviceCodeGrant(GrantBody):
    description = "A device asks whether the person has entered its code (RFC 8628, section 3.4)."
    needs = ("device_code",)
    examples: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "a device asks for its tokens": {
            "grant_type": DEVICE_GRANT,
            "client_id": "01919f3c-7b1e-7cc0-8f57-5f8d4c1c9a1e",
            "device_code": DEVICE_CODE,
        },
    }

    grant_type: Literal["urn:ietf:params:oauth:grant-type:device_code"]
    """`urn:ietf:params:oauth:grant-type:device_code`."""
    device_code: TokenText = ""
    """Grant `device_code`: the code of the answer of `/v1/oauth/device`."""


@grant(
    DEVICE_GRANT,
    body=DeviceCodeGrant,
    errors=(
        AuthorizationPending,
        SlowDown,
        AccessDenied,
        ExpiredToken,
        InvalidGrant,
        InvalidScope,
        InvalidTarget,
        SigningUnavailable,
    ),
)
def by_device_code(ctx: Context, client: AuthenticatedClient, body: DeviceCodeGrant) -> TokenPair:
    """Raises as `poll`."""
    return poll(ctx, client, body.device_code, body.resource or "")
