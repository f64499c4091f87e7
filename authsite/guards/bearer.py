"""The api guard: a bearer token in the Authorization header (RFC 6750, section 2.1)."""

import re
from collections.abc import Sequence

from authsite import clock
from authsite.context import Services
from authsite.oauth.active import ActiveToken, find_active, find_together, is_current, note_use
from authsite.oauth.tokens import Token, decode_bearer
from authsite.request_state import Request
from authsite.settings import Settings
from authsite.users.caller import Caller

from .errors import NotAuthenticated

# For the log; the response tells none of it.
NO_TOKEN = "the header Authorization has no bearer token"
NOT_VALID = "the access token is malformed, expired, or signed with another secret"
NOT_ACTIVE = "the access token was revoked or refreshed, or its user or client is disabled or gone"

_BEARER = re.compile(r"bearer(?: ++|$)(.{0,512})", re.IGNORECASE)


def api_guard(request: Request) -> Caller:
    """The caller that the request's token belongs to.

    A forged or expired token is rejected without a query. Raises `NotAuthenticated`.
    """
    sent: str = request.environ.get("HTTP_AUTHORIZATION", "")
    header = _BEARER.fullmatch(sent)
    if header is None:
        raise NotAuthenticated(token_sent=sent[:6].lower() == "bearer", reason=NO_TOKEN)
    now = clock.now()
    token = decode_bearer(request.authsite.services.keys, header[1], now)
    active = token and find_active(
        request.authsite.database, token, now, request.authsite.settings.refresh_grace
    )
    if not token or not active:
        raise NotAuthenticated(token_sent=True, reason=NOT_ACTIVE if token else NOT_VALID)
    note_use(request.authsite.services.last_used, token, active, now)
    return _caller(token, active, request.authsite.settings)


def read_together(services: Services, callers: Sequence[Caller]) -> list[Caller | None]:
    """The callers as the database has them now; None for a token that is no longer active."""
    now, grace = clock.now(), services.settings.refresh_grace
    tokens = [
        Token(caller.family_uuid, caller.generation, int(caller.expires))
        for caller in callers
        if caller.family_uuid
    ]
    found = find_together(services.database, [token.family_id for token in tokens])
    again: list[Caller | None] = []
    for token in tokens:
        active = found.get(token.family_id)
        if active and is_current(token, active, now, grace):
            note_use(services.last_used, token, active, now)
            again.append(_caller(token, active, services.settings))
        else:
            again.append(None)
    return again


def credential(request: Request) -> str | None:
    """The Authorization header, or None."""
    return request.environ.get("HTTP_AUTHORIZATION")


def _caller(token: Token, active: ActiveToken, settings: Settings) -> Caller:
    return Caller(
        guard="api",
        account=active.account,
        scope=tuple(active.scope.split()),
        family_uuid=token.family_id,
        client_uuid=active.client_id,
        client_name=active.client_name,
        generation=token.generation,
        expires=token.expires,
        login_names=settings.login_identifiers,
    )
