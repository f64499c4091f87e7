"""The password grant: a first-party client acts for a user (RFC 6749, section 4.3)."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from authsite.oauth.client_auth import AuthenticatedClient
from authsite.oauth.errors import InvalidGrant, InvalidScope, InvalidTarget
from authsite.oauth.mfa import service
from authsite.oauth.mfa.errors import MfaRequired
from authsite.oauth.models import PASSWORD_GRANT
from authsite.oauth.oidc.errors import SigningUnavailable
from authsite.oauth.parameters import Name, Secret
from authsite.oauth.tokens import TokenPair
from authsite.platform.context import Context
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
