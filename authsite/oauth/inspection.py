"""What a token is, for an administrator: whose, and whether it is active or why not.

The state is read once, without the conditions of `oauth.active`, so that each can be named.
"""

from datetime import UTC, datetime
from typing import NamedTuple

from authsite import clock
from authsite.context import Context
from authsite.users.models import User

from . import families
from .active import within_grace
from .models import Client, Family
from .tokens import ACCESS, PERSONAL, REFRESH, Token, decode_expired, family_limit

KINDS = {ACCESS: "access token", REFRESH: "refresh token", PERSONAL: "personal access token"}
REVOKED_WHY = "revoked by an administrator"


class Inspected(NamedTuple):
    """A token that this installation has issued.

    ``ended`` says why no token of its login is active any more, and ``reason`` why this one is not;
    both are None for an active token.
    """

    kind: str
    expires_at: datetime
    family: Family | None
    user: User | None
    client: Client | None
    ended: str | None
    reason: str | None


def inspect(ctx: Context, text: str) -> Inspected | None:
    """The state of the token ``text``; None if it is none of ours, or made with a lost secret."""
    keys = ctx.services.keys
    kind, token = next(
        ((kind, found) for kind in KINDS if (found := decode_expired(keys, kind, text))),
        ("", None),
    )
    if token is None:
        return None
    family = ctx.db.get(Family, token.family_id, populate_existing=True)
    user = ctx.db.get(User, family.user_id) if family and family.user_id else None
    client = ctx.db.get(Client, family.client_id) if family and family.client_id else None
    ended = _why_ended(ctx, family, user, client)
    reason = _why_inactive(ctx, kind, token, family, user)
    expires_at = datetime.fromtimestamp(token.expires, UTC)
    return Inspected(KINDS[kind], expires_at, family, user, client, ended, ended or reason)


def revoke(ctx: Context, found: Inspected) -> None:
    """End the login that a token belongs to, or a personal access token; recorded.

    All tokens of a login end, as in `oauth.revocation`. Does nothing if they have ended already.
    """
    family = found.family
    if family and not found.ended:
        families.end(
            ctx, family.id, REVOKED_WHY, user_id=family.user_id, client_id=family.client_id
        )


def _why_ended(
    ctx: Context, family: Family | None, user: User | None, client: Client | None
) -> str | None:
    """Why no token of the family is active; None if one may be."""
    if family is None:
        return "its login is not in the database: it expired, or its user or client was deleted"
    if family.revoked_at:
        return f"revoked at {clock.rfc3339(family.revoked_at)}: {family.revoked_why}"
    if user and user.disabled_at:
        return f"the user was disabled at {clock.rfc3339(user.disabled_at)}"
    if user and user.epoch != family.user_epoch:
        return (
            "all sign-ins of the user were ended later (`authsite audit list --user` says when and "
            "why)"
        )
    if client and client.disabled_at:
        return f"the client was disabled at {clock.rfc3339(client.disabled_at)}"
    if client and client.epoch != family.client_epoch:
        return "all tokens of the client were ended later: it was disabled, or may ask for less"
    return None


def _why_inactive(
    ctx: Context, kind: str, token: Token, family: Family | None, user: User | None
) -> str | None:
    """Why this token of a family is not active, though others may be."""
    now = clock.now()
    if token.expires <= now.timestamp():
        return "expired"
    if family is None:
        return None
    behind = family.generation - token.generation
    in_grace = within_grace(now, family.rotated_at, ctx.settings.refresh_grace)
    rescoped = kind == ACCESS and family.rescoped
    if behind < 0:
        return "newer than its login in the database, which was restored from a backup"
    if behind > 1 or (behind == 1 and (rescoped or not in_grace)):
        return "replaced: its login was refreshed since, and has newer tokens"
    limit = family_limit(family.created_at, ctx.settings)
    if kind == REFRESH and limit and limit <= now:
        return "its login is older than family-lifetime"
    if user and ctx.settings.confirmation_required and user.email_verified_at is None:
        return "the user has not confirmed the e-mail address"
    return None
