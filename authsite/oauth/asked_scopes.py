"""What a client gets of the scopes that it asks for: at a sign-in, and at each refresh after it.

Libraries send the scope that they are configured with at both. So what a sign-in leaves out, a
refresh leaves out, too (OpenID Connect Core 1.0, section 3.1.2.1; RFC 6749, section 3.3).
"""

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import bindparam, select

from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.settings import Settings
from authsite.users.groups import group_scopes
from authsite.users.groups.group_scopes import Holder
from authsite.users.groups.labels import ADMIN_SCOPES

from . import resources
from .clients import self_described
from .errors import InvalidScope
from .models import UNVERIFIED_TYPES, Client
from .resources import RegisteredResource
from .scopes import ACCOUNT_SCOPE, OPENID, OPENID_SCOPES, parse


class _Asking(NamedTuple):
    """What a client may ask for, as it is stored."""

    type: str
    scope: str


_ASKING = PreparedQuery(
    select(Client.type, Client.scope).where(Client.id == bindparam("client_id")), _Asking
)


def of_sign_in(
    settings: Settings,
    asked: Iterable[str],
    client_scope: str,
    resource: RegisteredResource | None,
) -> str:
    """The scope that an application may have of what it asks for when it signs a person in.

    A client needs no permission for the scopes of OpenID Connect; ``client_scope`` are the others
    that it may have. What is left out: see `_left_out`. Raises `InvalidScope`.
    """
    asked, allowed = list(asked), {*parse(client_scope), *OPENID_SCOPES}
    unknown = _unknown(settings, asked, client_scope)
    if refused := [each for each in asked if each not in unknown and each not in allowed]:
        raise InvalidScope(refused, client_scope)
    left_out = _left_out(settings, asked, client_scope, resource)
    return " ".join(each for each in asked if each not in left_out)


def of_refresh(
    ctx: Context,
    requested: str | None,
    granted: str,
    client_scope: str,
    resource: RegisteredResource | None,
    holder: Holder | None,
) -> str:
    """The scope of the next tokens: ``requested``, or ``granted`` if it is empty.

    A scope that was not granted is left out where a sign-in would leave it out now; ``holder``: a
    scope for groups that the client may have, where none of the user's groups gives it. Raises
    `InvalidScope` for any other one (RFC 6749, section 6), and where nothing is left.
    """
    asked, known = parse(requested or ""), parse(granted)
    if not asked:
        return granted
    more = [each for each in asked if each not in known]
    if more:
        left_out = _left_out(ctx.settings, asked, client_scope, resource)
        if holder:
            held = parse(group_scopes.held(ctx, holder, " ".join(more)))
            left_out |= set(more).intersection(parse(client_scope)).difference(held)
        if refused := [each for each in more if each not in left_out]:
            raise InvalidScope(refused, granted)
    if not set(asked) - set(more) and known:
        raise InvalidScope(more, granted)
    return " ".join(each for each in asked if each in known)


def level_for(ctx: Context, holder: Holder, audience: str | None, scope: str) -> str | None:
    """The level of a sign-in that would give the client of ``holder`` all of ``scope``.

    None if no sign-in would, or one of this level: for a scope that the client may not have, or the
    resource ``audience`` has not, or that no group of the user gives. For requests that are
    refused: it reads the client and the groups.
    """
    client = _ASKING.one(ctx.database, client_id=holder.client_id)
    if client is None:
        return None
    resource = resources.find(ctx, audience) if audience is not None else None
    allowed, asked = client.scope, parse(scope)
    if client.type in UNVERIFIED_TYPES:
        allowed = self_described.still_allowed(ctx.settings, client.type, allowed)
    try:
        given = of_sign_in(ctx.settings, asked, allowed, resource)
    except InvalidScope:
        return None
    return group_scopes.level_for(ctx, holder, scope) if parse(given) == asked else None


def _left_out(
    settings: Settings,
    asked: Iterable[str],
    client_scope: str,
    resource: RegisteredResource | None,
) -> set[str]:
    """What is ignored: with ``openid`` an unknown scope; one that the resource does not have."""
    asked = set(asked)
    of_resource = set(parse(resources.scope_for(resource, " ".join(asked))))
    return _unknown(settings, asked, client_scope) | (asked - of_resource)


def _unknown(settings: Settings, asked: Iterable[str], client_scope: str) -> set[str]:
    if OPENID not in asked:
        return set()
    known = {ACCOUNT_SCOPE, *settings.scopes, *ADMIN_SCOPES, *parse(client_scope), *OPENID_SCOPES}
    return set(asked) - known
