"""The grant of a second step: a login that was answered with ``mfa_required`` goes on."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from authsite.oauth.client_auth import AuthenticatedClient
from authsite.oauth.errors import InvalidGrant, InvalidTarget
from authsite.oauth.mfa import service
from authsite.oauth.mfa.errors import MethodNotOffered, MfaRequired, MissingProof
from authsite.oauth.models import MFA_GRANT
from authsite.oauth.oidc.errors import SigningUnavailable
from authsite.oauth.parameters import MFA_TOKEN, Credential, Name, TokenText
from authsite.oauth.tokens import TokenPair
from authsite.platform.context import Context

from .grant import GrantBody, grant


class MfaGrant(GrantBody):
    description = "A login goes on with another proof, after `mfa_required`."
    needs = ("mfa_token", "mfa_method")
    examples: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "a login goes on with a code": {
            "grant_type": MFA_GRANT,
            "mfa_token": MFA_TOKEN,
            "mfa_method": "totp",
            "code": "123456",
        },
    }

    grant_type: Literal["urn:authsite:params:oauth:grant-type:mfa"]
    """`urn:authsite:params:oauth:grant-type:mfa`."""
    mfa_token: TokenText = ""
    """Grant `…:mfa`: the `mfa_token` of the answer `mfa_required`. The tokens have the scope and
    the resource that the login began with."""
    mfa_method: Name = ""
    """Grant `…:mfa`: one of the `mfa_methods` of that answer: `totp`, `recovery_code`, `passkey` or
    `email`."""
    code: TokenText = ""
    """Grant `…:mfa`: the code, with every method but `passkey`."""
    credential: Credential = ""
    """Grants `…:mfa` and `…:passkey`: with a passkey, what the browser's `credential.toJSON()`
    returns, as JSON text of 16 KiB at most."""
    enrollment: Annotated[str, Field(max_length=1024)] = ""
    """Grant `…:mfa`: with the first code of a new authenticator app, the `enrollment` that
    `/v1/mfa/enroll` returned."""


@grant(
    MFA_GRANT,
    body=MfaGrant,
    errors=(
        InvalidGrant,
        MfaRequired,
        MethodNotOffered,
        MissingProof("code"),
        InvalidTarget,
        SigningUnavailable,
    ),
)
def by_mfa(ctx: Context, client: AuthenticatedClient, body: MfaGrant) -> TokenPair:
    """Raises as `service.go_on`."""
    given = {"code": body.code, "credential": body.credential, "enrollment": body.enrollment}
    return service.go_on(ctx, client, body.mfa_token, body.mfa_method, given, body.resource)
