"""Log in and refresh for a first-party client, whose credentials the server adds."""

from collections.abc import Mapping, Sequence

import structlog

from authsite.context import Context
from authsite.oauth import grants
from authsite.oauth.client_auth import AuthenticatedClient, authenticate
from authsite.oauth.tokens import TokenPair
from authsite.settings import canonical_client

from .errors import NoRefreshToken, OneIdentifierRequired, UnknownProxy

log = structlog.get_logger("authsite.proxy")


def authenticate_configured(ctx: Context, name: str) -> AuthenticatedClient:
    """The client whose credentials the settings hold under ``name``.

    Raises `UnknownProxy`, `InvalidClient` for credentials that are not a client's, and
    `HashCapacityExceeded`.
    """
    name = canonical_client(name)
    configured = ctx.settings.clients.get(name)
    if configured is None:
        missing = f"clients.{name}.id and clients.{name}.secret"
        log.warning("unknown_proxy", client=name, settings_missing=missing)
        raise UnknownProxy
    return authenticate(ctx.database, ctx.passwords, configured.id, configured.secret.reveal())


def log_in(
    ctx: Context,
    client: AuthenticatedClient,
    identifiers: Mapping[str, str | None],
    password: str,
    scope: str | None,
) -> TokenPair:
    """The token pair of a user, by the password grant.

    ``identifiers``: the fields of the login name, see `choose_identifier`. Raises
    `OneIdentifierRequired`, and what the grant raises.
    """
    username, kinds = choose_identifier(identifiers, ctx.settings.login_identifiers)
    request = grants.TokenRequest(scope, username, password, kinds=kinds)
    return grants.execute(ctx, grants.find("password"), client, request)


def refresh(
    ctx: Context, client: AuthenticatedClient, token: str | None, scope: str | None
) -> TokenPair:
    """The next token pair, by the refresh token grant.

    Raises `NoRefreshToken` without a ``token``, and what the grant raises.
    """
    if not token:
        raise NoRefreshToken
    request = grants.TokenRequest(scope, refresh_token=token)
    return grants.execute(ctx, grants.find("refresh_token"), client, request)


def choose_identifier(
    identifiers: Mapping[str, str | None], enabled: Sequence[str]
) -> tuple[str, tuple[str, ...] | None]:
    """The login name, and the kinds of identifier that it may be; None: all that are enabled.

    ``identifiers`` has a field for each kind. The field ``username`` takes a login name of any
    enabled kind, also where usernames are not enabled. A field of a kind that is not enabled is
    ignored. Raises `OneIdentifierRequired` unless exactly one field is filled.
    """
    fields = tuple(dict.fromkeys(("username", *enabled)))
    filled = [(field, name) for field in fields if (name := identifiers.get(field))]
    if len(filled) != 1:
        raise OneIdentifierRequired(fields)
    [(field, name)] = filled
    return name, None if field == "username" else (field,)
