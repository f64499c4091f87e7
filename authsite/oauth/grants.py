"""The grants of the token endpoint (RFC 6749). A new one is a function and a line in `GRANTS`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from uuid import uuid4

from authsite.audit.service import record_apart
from authsite.context import Context
from authsite.login import notices
from authsite.sign_in import gate
from authsite.sign_in.methods import Pending, Target
from authsite.sign_in.password import NAME as PASSWORD

from . import scopes
from .client_auth import AuthenticatedClient
from .errors import (
    InvalidGrant,
    LoginFailed,
    MissingParameter,
    UnauthorizedClient,
    UnsupportedGrantType,
)
from .issue import issue, issue_for_client
from .refresh import refresh
from .tokens import TokenPair


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """The parameters of a token request that grants read (RFC 6749, section 4)."""

    scope: str | None = None
    username: str | None = None
    password: str | None = None
    refresh_token: str | None = None
    # The kinds of identifier that `username` may be; by default all that are enabled.
    kinds: tuple[str, ...] | None = None


def password(ctx: Context, client: AuthenticatedClient, request: TokenRequest) -> TokenPair:
    """A first-party client acts for a user (section 4.3).

    Raises `LoginFailed`, `MissingParameter`, `InvalidScope`, `TooManyAttempts`,
    `HashCapacityExceeded`, what an account condition raises, and a plain `InvalidGrant` where the
    gate wants another proof: no grant takes one yet.
    """
    if not request.username or not request.password:
        raise MissingParameter("username and password")
    scope = scopes.choose(request.scope, client.scope, client.default_scope)
    given = {"username": request.username, "password": request.password}
    given |= {"kinds": " ".join(request.kinds)} if request.kinds else {}
    done = gate.sign_in(ctx, PASSWORD, given, Target(client.id, client.epoch, scope))
    if done is None:
        raise LoginFailed
    if isinstance(done, Pending):
        record_apart(ctx, "login.failed", **done.about("factor_missing"))
        raise InvalidGrant
    family_id = uuid4()
    pair = issue(ctx, client, done, scope, family_id)
    if done.notify:
        notices.send_new_device(ctx, done.account, family_id)
    return pair


def client_credentials(
    ctx: Context, client: AuthenticatedClient, request: TokenRequest
) -> TokenPair:
    """A client acts for itself and for no user (section 4.4). Raises `InvalidScope`.

    A refresh token comes with it, though section 4.4.3 advises against one.
    """
    scope = scopes.choose(request.scope, client.scope, client.default_scope)
    return issue_for_client(ctx, client, scope)


def refresh_token(ctx: Context, client: AuthenticatedClient, request: TokenRequest) -> TokenPair:
    """The next pair of a family (section 6). Raises `MissingParameter`, and as `refresh`."""
    if not request.refresh_token:
        raise MissingParameter("refresh_token")
    return refresh(ctx, client.id, request.refresh_token, request.scope)


class Grant(NamedTuple):
    """A grant: the types of client that may use it, and the function that issues the tokens."""

    client_types: tuple[str, ...]
    issue: Callable[[Context, AuthenticatedClient, TokenRequest], TokenPair]


GRANTS: Mapping[str, Grant] = {
    "password": Grant(("password",), password),
    "client_credentials": Grant(("personal",), client_credentials),
    "refresh_token": Grant(("password", "personal"), refresh_token),
}


def find(grant_type: str) -> Grant:
    """The grant of this type; raises `UnsupportedGrantType`."""
    if grant_type not in GRANTS:
        raise UnsupportedGrantType
    return GRANTS[grant_type]


def execute(
    ctx: Context, grant: Grant, client: AuthenticatedClient, request: TokenRequest
) -> TokenPair:
    """The token pair that ``client`` gets by ``grant``.

    Raises `UnauthorizedClient`, and what the grant raises.
    """
    if client.type not in grant.client_types:
        raise UnauthorizedClient
    return grant.issue(ctx, client, request)
