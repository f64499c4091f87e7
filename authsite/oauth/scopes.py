"""Scopes: parse, choose, narrow (RFC 6749, sections 3.3 and 6), and hold by a group."""

from uuid import UUID

from authsite.platform.context import Context
from authsite.platform.settings.values import ACCOUNT, OIDC_SCOPES
from authsite.users.groups import group_scopes
from authsite.users.groups.group_scopes import Holder

from .errors import InvalidGrant, InvalidScope
from .reasons import TokenReason
from .tokens import families

OPENID, OFFLINE_ACCESS = "openid", "offline_access"  # OpenID Connect Core 1.0, sections 3 and 11
OPENID_SCOPES = OIDC_SCOPES
"""The scopes of OpenID Connect, which an application needs no permission for."""
ACCOUNT_SCOPE = ACCOUNT
"""The scope with which a first-party application may call authsite's own API."""


def parse(text: str) -> list[str]:
    """The scopes in ``text``, each once, in the order given."""
    return list(dict.fromkeys(scope for scope in text.split(" ") if scope))


def choose(requested: str | None, allowed: str, default: str) -> str:
    """The scope that is granted: ``requested``, or ``default`` if it is empty.

    Raises `InvalidScope` for a scope that is not in ``allowed``.
    """
    return narrow(requested, allowed) if requested and requested.strip(" ") else default


def narrow(requested: str | None, allowed: str) -> str:
    """``requested``, or ``allowed`` if it is empty.

    Raises `InvalidScope` for a scope that is not in ``allowed``.
    """
    scopes = parse(requested or "")
    if not scopes:
        return allowed
    if refused := [each for each in scopes if each not in parse(allowed)]:
        raise InvalidScope(refused, allowed)
    return " ".join(scopes)


def without_openid(scope: str) -> str:
    """``scope`` without the scopes of OpenID Connect.

    They are for tokens that come from a code.
    """
    return " ".join(name for name in parse(scope) if name not in OPENID_SCOPES)


def hold(ctx: Context, holder: Holder, scope: str) -> str:
    """``scope`` without what is for groups and none of the user's groups gives.

    Raises `InvalidScope` if nothing is left.
    """
    held = group_scopes.held(ctx, holder, scope)
    if scope and not held:
        level = group_scopes.level_for(ctx, holder, scope, a_part=True)
        why = TokenReason.SCOPE_OF_LEVEL if level else TokenReason.SCOPE_OF_GROUP
        raise InvalidScope([scope], level or "", why=why)
    return held


def confirm(ctx: Context, holder: Holder, family_id: UUID, held: str) -> None:
    """Check, once tokens with the scope ``held`` are stored, that the user still holds it.

    A change that takes a scope from a user ends the stored tokens that carry it. So either these
    tokens are among them, or this function sees the change. In that case it ends the family,
    which is committed, and raises `InvalidGrant`.
    """
    if group_scopes.held(ctx, holder, held, group_scopes.given_after_changes) != held:
        families.end_apart(ctx, family_id, families.SCOPE_LOST, holder.user_id)
        raise InvalidGrant().because(TokenReason.RACE)
