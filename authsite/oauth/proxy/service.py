"""Log in and refresh for a first-party client, whose credentials the server adds."""

from collections.abc import Mapping, Sequence

import structlog

from authsite.oauth import refresh as rotation
from authsite.oauth.client_auth import AuthenticatedClient, authenticate
from authsite.oauth.grants.mfa import by_mfa
from authsite.oauth.grants.passkey import by_passkey, issue_by_passkey
from authsite.oauth.grants.password import by_password, issue_by_password
from authsite.oauth.grants.refresh_token import by_refresh_token
from authsite.oauth.grants.table import check_allowed
from authsite.oauth.mfa import service as mfa
from authsite.oauth.mfa.service import PasskeyOptions
from authsite.oauth.tokens import TokenPair
from authsite.platform.context import Context
from authsite.platform.settings import canonical_client

from .errors import NoRefreshToken, OneIdentifierRequired, UnknownProxy

log = structlog.get_logger("authsite.proxy")


def authenticate_configured(ctx: Context, name: str) -> AuthenticatedClient:
    """The client whose credentials the settings hold under ``name``.

    Raises `UnknownProxy`, `InvalidClient` for credentials that are not a client's, and
    `HashCapacityExceeded`.
    """
    configured = ctx.settings.clients.get(canonical_client(name))
    if configured is None:
        # Not the name itself: a client may have put a secret into the path.
        log.warning(
            "unknown_proxy",
            clients=sorted(ctx.settings.clients),
            settings_missing="clients.<name>.id and clients.<name>.secret",
        )
        raise UnknownProxy
    return authenticate(ctx.database, ctx.passwords, configured.id, configured.secret.reveal())


def log_in(
    ctx: Context,
    client: AuthenticatedClient,
    identifiers: Mapping[str, str | None],
    password: str,
    scope: str | None,
    otp: str = "",
) -> TokenPair:
    """The token pair of a user, by the password grant.

    ``identifiers``: the fields of the login name, see `choose_identifier`. Raises
    `OneIdentifierRequired`, and what the grant raises.
    """
    username, kinds = choose_identifier(identifiers, ctx.settings.login_identifiers)
    check_allowed(client, by_password)
    given = {"username": username, "password": password, "kinds": kinds}
    return issue_by_password(ctx, client, given, scope, otp=otp)


def go_on(
    ctx: Context,
    client: AuthenticatedClient,
    mfa_token: str,
    method: str,
    given: Mapping[str, str],
) -> TokenPair:
    """The token pair of a user who gives a further proof. Raises what the grant raises."""
    check_allowed(client, by_mfa)
    return mfa.go_on(ctx, client, mfa_token, method, given)


def passkey_options(ctx: Context, client: AuthenticatedClient) -> PasskeyOptions:
    """Options for a sign-in by passkey. Raises `UnauthorizedClient` and `PasskeysOff`."""
    check_allowed(client, by_passkey)
    return mfa.passkey_options(ctx, client.id)


def sign_in_by_passkey(
    ctx: Context, client: AuthenticatedClient, credential: str, scope: str | None
) -> TokenPair:
    """The token pair of the user of a passkey. Raises what the grant raises."""
    check_allowed(client, by_passkey)
    return issue_by_passkey(ctx, client, credential, scope)


def refresh(
    ctx: Context, client: AuthenticatedClient, token: str | None, scope: str | None
) -> TokenPair:
    """The next token pair, by the refresh token grant.

    Raises `NoRefreshToken` without a ``token``, and what the grant raises.
    """
    if not token:
        raise NoRefreshToken
    check_allowed(client, by_refresh_token)
    return rotation.refresh(ctx, client.id, token, scope)


def choose_identifier(
    identifiers: Mapping[str, str | None], enabled: Sequence[str]
) -> tuple[str, str]:
    """The login name, and the kind of identifier that it is; empty: any that is enabled.

    ``identifiers`` has a field for each kind. The field ``username`` takes a login name of any
    enabled kind, also where usernames are not enabled. A field of a kind that is not enabled is
    ignored. Raises `OneIdentifierRequired` unless exactly one field is filled.
    """
    fields = tuple(dict.fromkeys(("username", *enabled)))
    filled = [(field, name) for field in fields if (name := identifiers.get(field))]
    if len(filled) != 1:
        raise OneIdentifierRequired(fields)
    [(field, name)] = filled
    return name, "" if field == "username" else field
