"""The device code grant: a program without a browser asks for its tokens (RFC 8628, 3.4)."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from authsite.oauth.client_auth import AuthenticatedClient
from authsite.oauth.device.errors import AccessDenied, AuthorizationPending, ExpiredToken, SlowDown
from authsite.oauth.device.polling import poll
from authsite.oauth.errors import InvalidGrant, InvalidScope, InvalidTarget
from authsite.oauth.models import DEVICE_GRANT
from authsite.oauth.oidc.errors import SigningUnavailable
from authsite.oauth.parameters import DEVICE_CODE, TokenText
from authsite.oauth.tokens import TokenPair
from authsite.platform.context import Context

from .grant import GrantBody, grant


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
