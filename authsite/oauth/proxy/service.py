"""Log in and refresh for a first-party client, whose credentials the server adds."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import structlog

from authsite.oauth.clients.authentication import AuthenticatedClient, authenticate
from authsite.oauth.grants.machine import by_refresh_token
from authsite.oauth.grants.sign_in import (
    by_mfa,
    by_passkey,
    by_password,
    issue_by_passkey,
    issue_by_password,
)
from authsite.oauth.grants.table import check_allowed
from authsite.oauth.mfa import service as mfa
from authsite.oauth.mfa.service import PasskeyOptions
from authsite.oauth.tokens import refresh as rotation
from authsite.oauth.tokens.format import REFRESH, Token, TokenPair, decode_expired
from authsite.platform.audit.events import Event
from authsite.platform.context import Context
from authsite.platform.http import cookies
from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import JSON
from authsite.platform.http.errors import ApiError
from authsite.platform.request_state import Request
from authsite.platform.settings import canonical_client

# Errors of the proxy endpoints, besides those of the grants.


class UnknownProxy(ApiError):
    summary = "No client of this name is configured."
    status = 404
    code = "not_found"
    message = "There is no client of this name. Check the name in the path."


class ForeignOrigin(ApiError):
    summary = (
        "The request may come from a page whose origin is neither authsite's nor in `cors-origins`."
    )
    status = 403
    code = "access_denied"
    audit_event = Event.PROXY_CROSS_ORIGIN
    message = (
        "This request may come from a page of another site, so it can neither use nor set the "
        "refresh cookie. Send it from our own pages or from an origin in cors-origins; outside a "
        "browser send Content-Type: application/json and no Origin header."
    )


class UnfitRefreshCookie(ApiError):
    summary = "On https: the refresh cookie comes without the witness cookie that fits it."
    status = 400
    code = "invalid_request"
    message = (
        "The refresh cookie was not set with the cookie __Host-authsite-refresh-<client> that this "
        "browser has, so it may come from another host. Log in again."
    )


class OneIdentifierRequired(ApiError):
    """None, or more than one, of the fields for the login name is filled."""

    status = 400
    code = "invalid_request"

    def __init__(self, fields: Sequence[str]) -> None:
        names = ", ".join(fields)
        super().__init__(f"Send the login name in exactly one of these fields: {names}.")


class NoRefreshToken(ApiError):
    summary = "Neither the body nor the cookie has a refresh token."
    status = 400
    code = "invalid_request"
    message = "Send refresh_token in the body, or the cookie that login set."


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


# The refresh cookie with its witness, and the check that a page of the same site uses it.
#
# The refresh cookie has the path of its client, which excludes the prefix ``__Host-``. So any
# host of the domain can set one, which would sign a visitor in to another account (login CSRF).
# On https a second cookie with that prefix, the witness, is set with it. Its value is a MAC over
# the token family, and the refresh cookie counts only with the witness of its family.


WITNESS_PURPOSE = "refresh cookie witness"


def set_cookies(request: Request, token: str) -> None:
    """Set the cookie to the refresh token, for the routes of this client only, and its witness."""
    lifetime = int(request.authsite.settings.refresh_expires_in.total_seconds())
    client = request.matchdict["client"]
    _write(request, client, token, lifetime)
    issued = decode_expired(request.authsite.services.keys, REFRESH, token)
    if issued:
        _write_witness(request, client, _witness(request, issued.family_id), lifetime)


def clear_all(request: Request) -> None:
    """Delete the cookies of all configured clients (at logout), under both spellings."""
    for client in request.authsite.settings.clients:
        for name in dict.fromkeys((client, client.replace("_", "-"))):
            _write(request, name, "", 0)
            _write_witness(request, name, "", 0)


def read_token(request: Request) -> str | None:
    """The refresh token in the cookie, or None.

    Of several cookies, on https the one that fits the witness counts, and the others are deleted.
    Raises `ForeignOrigin` for a request without an origin that a form of any site could send, and
    `UnfitRefreshCookie` if none fits; then cookie and witness are deleted.
    """
    sent = cookies.read_all(request, cookies.REFRESH)
    has_origin = "Origin" in request.headers or "Sec-Fetch-Site" in request.headers
    if any(sent) and not has_origin and request.content_type.strip().lower() != JSON:
        raise ForeignOrigin
    if not any(sent) or not cookies.is_secure(request):
        return cookies.read(request, cookies.REFRESH)
    client = request.matchdict["client"]
    fitting = [(token.generation, text) for text in sent if (token := _fitting(request, text))]
    if not fitting:
        cookies.delete_all(request, cookies.REFRESH)
        cookies.delete_all(request, _witness_name(client))
        raise UnfitRefreshCookie
    if len(sent) > 1:
        # The fitting one stays until the answer replaces it, for an answer that does not (503).
        cookies.delete_all(request, cookies.REFRESH, except_at=_path(request, client))
    return max(fitting)[1]


def _fitting(request: Request, text: str) -> Token | None:
    """The refresh token ``text``, expired or not, if the browser has the witness of its family."""
    token = decode_expired(request.authsite.services.keys, REFRESH, text)
    witness = cookies.read(request, _witness_name(request.matchdict["client"]))
    ring = request.authsite.services.keys[WITNESS_PURPOSE]
    fits = token and witness and ring.is_signature(token.family_id.bytes, witness)
    return token if fits else None


def _witness(request: Request, family_id: UUID) -> str:
    return request.authsite.services.keys[WITNESS_PURPOSE].sign(family_id.bytes)


def _witness_name(client: str) -> str:
    return f"{cookies.HOST}{cookies.WITNESS}{client}"


def _write_witness(request: Request, client: str, value: str, max_age: int) -> None:
    """Only on https: without TLS a browser takes no cookie with this prefix."""
    if cookies.is_secure(request):
        name = _witness_name(client)
        cookie = cookies.Cookie(name, value, max_age, samesite="Strict")
        cookies.write(request, request.response, cookie)


def _write(request: Request, client: str, value: str, max_age: int) -> None:
    path = _path(request, client)
    cookie = cookies.Cookie(cookies.REFRESH, value, max_age, path=path, samesite="Strict")
    cookies.write(request, request.response, cookie)


def _path(request: Request, client: str) -> str:
    return route_path(request, "authsite.proxy.login", client=client).removesuffix("/login")
