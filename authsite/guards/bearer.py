"""The api guard: a bearer token in the Authorization header (RFC 6750, section 2.1)."""

import re
from typing import Any, cast

from sqlalchemy import Table

from authsite import clock
from authsite.oauth.live import find_live
from authsite.oauth.models import Family
from authsite.oauth.tokens import ACCESS

from .caller import Caller
from .errors import NotAuthenticated

FAMILIES = cast(Table, Family.__table__)
_BEARER = re.compile(r"bearer(?: +|$)(.{0,512})", re.IGNORECASE)


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
    family = token and find_live(request.database, token, now, request.cfg.refresh_grace)
    if not family:
        raise NotAuthenticated(token_sent=True)
    request.registry["authsite.uses"].note(FAMILIES, family.id, family.rotated_at, now)
    return Caller(
        guard="api",
        user=family.account,
        scope=frozenset(family.scope.split()),
        family_id=family.id,
        client_id=family.client_id,
        client_name=family.client_name,
    )


def _looks_like_bearer(request: Any) -> bool:
    return str(request.environ.get("HTTP_AUTHORIZATION", ""))[:6].lower() == "bearer"
