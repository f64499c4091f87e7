"""The passkey grant: a user signs in to a first-party client with a passkey alone."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from authsite.oauth.client_auth import AuthenticatedClient
from authsite.oauth.errors import InvalidGrant, InvalidScope, InvalidTarget
from authsite.oauth.mfa import service
from authsite.oauth.mfa.errors import MfaRequired, PasskeysOff
from authsite.oauth.models import PASSKEY_GRANT
from authsite.oauth.oidc.errors import SigningUnavailable
from authsite.oauth.parameters import CREDENTIAL, Credential
from authsite.oauth.tokens import TokenPair
from authsite.platform.context import Context
from authsite.sign_in.factors.names import PASSKEY

from .grant import GrantBody, grant


class PasskeyGrant(GrantBody):
    description = "A user signs in to a first-party client with a passkey."
    needs = ("credential",)
    examples: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "a user signs in with a passkey": {"grant_type": PASSKEY_GRANT, "credential": CREDENTIAL},
    }

    grant_type: Literal["urn:authsite:params:oauth:grant-type:passkey"]
    """`urn:authsite:params:oauth:grant-type:passkey`."""
    credential: Credential = ""
    """Grants `…:mfa` and `…:passkey`: with a passkey, what the browser's `credential.toJSON()`
    returns, as JSON text of 16 KiB at most."""


@grant(
    PASSKEY_GRANT,
    body=PasskeyGrant,
    errors=(
        InvalidGrant,
        MfaRequired,
        InvalidScope,
        InvalidTarget,
        PasskeysOff,
        SigningUnavailable,
    ),
)
def by_passkey(ctx: Context, client: AuthenticatedClient, body: PasskeyGrant) -> TokenPair:
    """Raises as `issue_by_passkey`."""
    return issue_by_passkey(ctx, client, body.credential, body.scope, body.resource)


def issue_by_passkey(
    ctx: Context,
    client: AuthenticatedClient,
    credential: str,
    requested_scope: str | None,
    requested_resource: str | None = None,
) -> TokenPair:
    """The token pair of the user of a passkey. ``credential``: JSON text.

    Raises `PasskeysOff`, `InvalidScope`, `InvalidTarget`, and what `service.begin` raises:
    `LoginFailed` is the same for an unknown passkey, a wrong one and one of a disabled user.
    """
    service.require_passkeys(ctx)
    asked = service.ask(ctx, client, requested_scope, requested_resource)
    return service.begin(ctx, client, PASSKEY, {"credential": credential}, asked)
