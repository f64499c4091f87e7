"""The password grant: a first-party client acts for a user (RFC 6749, section 4.3)."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from authsite.oauth.clients.authentication import AuthenticatedClient
from authsite.oauth.errors import (
    CREDENTIAL,
    MFA_TOKEN,
    Credential,
    InvalidGrant,
    InvalidScope,
    InvalidTarget,
    Name,
    Secret,
    TokenText,
)
from authsite.oauth.mfa import service
from authsite.oauth.mfa.service import MethodNotOffered, MfaRequired, MissingProof, PasskeysOff
from authsite.oauth.models import MFA_GRANT, PASSKEY_GRANT, PASSWORD_GRANT
from authsite.oauth.oidc.errors import SigningUnavailable
from authsite.oauth.tokens.format import TokenPair
from authsite.platform.context import Context
from authsite.sign_in.factors.policy import PASSKEY
from authsite.sign_in.methods.password import NAME as PASSWORD

from .grant import GrantBody, grant


class PasswordGrant(GrantBody):
    description = "A user logs in with a first-party client (RFC 6749, section 4.3)."
    needs = ("username", "password")
    examples: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "a user logs in": {
            "grant_type": "password",
            "username": "ann@example.com",
            "password": "correct-horse-battery-staple",
        },
    }

    grant_type: Literal["password"]
    """`password`."""
    username: Name = ""
    """Grant `password`: the user's e-mail address, or another login name that is enabled."""
    password: Secret = ""
    """Grant `password`: the user's password."""
    otp: Annotated[str, Field(max_length=64, examples=["123456"])] = ""
    """Grant `password`: a code of the user's authenticator app, or a recovery code. It is read only
    if the password is right and a second step is needed."""


@grant(
    PASSWORD_GRANT,
    body=PasswordGrant,
    errors=(InvalidGrant, MfaRequired, InvalidScope, InvalidTarget, SigningUnavailable),
)
def by_password(ctx: Context, client: AuthenticatedClient, body: PasswordGrant) -> TokenPair:
    """Raises as `issue_by_password`."""
    given = {"username": body.username, "password": body.password}
    return issue_by_password(ctx, client, given, body.scope, body.resource, body.otp)


def issue_by_password(
    ctx: Context,
    client: AuthenticatedClient,
    given: Mapping[str, str],
    requested_scope: str | None,
    requested_resource: str | None = None,
    otp: str = "",
) -> TokenPair:
    """The token pair of a user. ``given``: what the password as a way to sign in reads.

    Raises `LoginFailed`, `MfaRequired`, `InvalidScope`, `InvalidTarget`, `TooManyAttempts`,
    `HashCapacityExceeded`, what an account condition raises, and `GroupRequired`.
    """
    asked = service.ask(ctx, client, requested_scope, requested_resource)
    return service.begin(ctx, client, PASSWORD, given, asked, otp)


# The passkey grant: a user signs in to a first-party client with a passkey alone.


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


# The grant of a second step: a login that was answered with ``mfa_required`` goes on.


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
