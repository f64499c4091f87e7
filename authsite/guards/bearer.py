"""The api guard: a bearer token in the Authorization header (RFC 6750, section 2.1)."""

import re
from typing import Any

from authsite import clock
from authsite.oauth.live import find_live
from authsite.oauth.tokens import ACCESS
from authsite.users.account import COLUMNS, Account

from .caller import Caller
from .errors import NotAuthenticated

_BEARER = re.compile(r"bearer(?: +|$)(.{0,512})", re.IGNORECASE)
_USER_AT = -len(COLUMNS)


def api_guard(request: Any) -> Caller:
    """The caller behind the request's token.

    A token that is not ours, or out of date, is refused without a query. Raises
    `NotAuthenticated`.
    """
    header = _BEARER.fullmatch(request.environ.get("HTTP_AUTHORIZATION", ""))
    if header is None:
        raise NotAuthenticated(token_sent=_looks_like_bearer(request))
    now = clock.now()
    token = request.token_codec.decode(ACCESS, header[1], now)
    row = token and find_live(request.database, token, now, request.cfg.refresh_grace)
    if not row:
        raise NotAuthenticated(token_sent=True)
    return Caller(
        guard="api",
        user=Account(*row[_USER_AT:]) if row[_USER_AT] else None,
        scope=frozenset(row.scope.split()),
        family_id=row[0],
        client_id=row.client_id,
        client_name=row.client_name,
    )


def _looks_like_bearer(request: Any) -> bool:
    return str(request.environ.get("HTTP_AUTHORIZATION", ""))[:6].lower() == "bearer"
