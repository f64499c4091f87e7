"""The password grant: a first-party client acts for a user (RFC 6749, section 4.3)."""

from collections.abc import Mapping
from typing import ClassVar, Literal
from uuid import uuid4

from authsite.context import Context
from authsite.oauth import client_groups, resources, scopes
from authsite.oauth.client_auth import AuthenticatedClient
from authsite.oauth.errors import (
    GroupRequired,
    InvalidGrant,
    InvalidScope,
    InvalidTarget,
    LoginFailed,
)
from authsite.oauth.issue import issue
from authsite.oauth.parameters import Name, Secret
from authsite.oauth.tokens import TokenPair
from authsite.platform.audit.events import Event
from authsite.platform.audit.failure_reasons import FailureReason
from authsite.platform.audit.service import record_apart
from authsite.sign_in import gate, notices
from authsite.sign_in.method import Pending, Target
from authsite.sign_in.methods.password import NAME as PASSWORD
from authsite.users.levels import acr_of

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


@grant("password", body=PasswordGrant, errors=(InvalidGrant, InvalidScope, InvalidTarget))
def by_password(ctx: Context, client: AuthenticatedClient, body: PasswordGrant) -> TokenPair:
    """Raises as `issue_by_password`."""
    given = {"username": body.username, "password": body.password}
    return issue_by_password(ctx, client, given, body.scope, body.resource)


def issue_by_password(
    ctx: Context,
    client: AuthenticatedClient,
    given: Mapping[str, str],
    requested_scope: str | None,
    requested_resource: str | None = None,
) -> TokenPair:
    """The token pair of a user. ``given``: what the password as a way to sign in reads.

    Raises `LoginFailed`, `InvalidScope`, `InvalidTarget`, `TooManyAttempts`,
    `HashCapacityExceeded`, what an account condition raises, `GroupRequired`, and a plain
    `InvalidGrant` where the gate wants another proof: no grant takes one yet.
    """
    allowed, default = map(scopes.without_openid, (client.scope, client.default_scope))
    scope = scopes.choose(requested_scope, allowed, default)
    resource = resources.choose(ctx, requested_resource, client.default_resource)
    scope = resources.scope_for(resource, scope)
    done = gate.sign_in(ctx, PASSWORD, given, Target(client.id, client.epoch, scope))
    if done is None:
        raise LoginFailed
    if isinstance(done, Pending):
        raise InvalidGrant
    if not client_groups.is_allowed(done.account, client.require_group, acr_of(done.amr)):
        record_apart(
            ctx,
            Event.LOGIN_FAILED,
            user_id=done.account.id,
            client_id=client.id,
            details={"reason": FailureReason.GROUP_MISSING},
        )
        raise GroupRequired
    family_id = uuid4()
    audience = resource.uri if resource else None
    pair = issue(ctx, client, done, scope, family_id, audience=audience)
    if done.notify:
        notices.send_new_device(ctx, done.account, family_id)
    return pair
