"""What a token is, for an administrator: whose, and whether it is active or why not.

The state is read once, without the conditions of `oauth.active`, so that each can be named.
"""

from datetime import UTC, datetime
from typing import NamedTuple

from authsite.platform.context import Context
from authsite.platform.runtime import clock
from authsite.sign_in import credentials
from authsite.sign_in.factors.policy import is_met
from authsite.users.models import User

from . import active_personal_tokens, families, resources
from .active import within_grace
from .models import Client, Family, PersonalToken, may_refresh
from .oidc import access_tokens
from .tokens import (
    ACCESS,
    PERSONAL_TOKEN,
    REFRESH,
    BearerToken,
    PersonalTokenValues,
    Token,
    decode_expired,
    decode_personal_expired,
    family_limit,
)

KINDS = {
    ACCESS: "access token",
    REFRESH: "refresh token",
    PERSONAL_TOKEN: "personal access token",
}
REVOKED_WHY = "revoked by an administrator"
_OWN, _SERVERS, _CLIENTS = "its own client", "resource servers", "all other clients"


class Inspected(NamedTuple):
    """A token that this installation has issued.

    ``row``: the family of the token, or the row of a personal access token. ``ended`` says why no
    token of this row is active any more, and ``reason`` why this one is not; both are None for an
    active token. ``known_to``: for whom an active token is.
    """

    kind: str
    expires_at: datetime
    row: Family | PersonalToken | None
    user: User | None
    client: Client | None
    ended: str | None
    reason: str | None
    known_to: "KnownTo"

    @property
    def audience(self) -> str | None:
        """The URI of the resource that the token is for (RFC 8707); None for any."""
        return credentials.unpack(self.row.facts).audience if isinstance(self.row, Family) else None


class KnownTo(NamedTuple):
    """For whom a token is active at introspection, and for whom it is not, with the reason."""

    active: tuple[str, ...] = ()
    inactive: tuple[tuple[str, str], ...] = ()


def inspect(ctx: Context, text: str) -> Inspected | None:
    """The state of the token ``text``; None if it is none of ours, or made with a lost secret."""
    kind, token = _decode(ctx, text)
    if token is None:
        return None
    row: Family | PersonalToken | None
    if isinstance(token, PersonalTokenValues):
        row = ctx.db.get(PersonalToken, token.id, populate_existing=True)
    else:
        row = ctx.db.get(Family, token.family_id, populate_existing=True)
    user = ctx.db.get(User, row.user_id) if row and row.user_id else None
    client = ctx.db.get(Client, row.client_id) if row and row.client_id else None
    ended = _why_ended(ctx, row, user, client)
    reason = ended or _why_inactive(ctx, kind, token, row, user)
    expires_at = datetime.fromtimestamp(token.expires, UTC)
    known_to = KnownTo() if reason or row is None else _known_to(ctx, kind, row)
    return Inspected(KINDS[kind], expires_at, row, user, client, ended, reason, known_to)


def revoke(ctx: Context, found: Inspected) -> None:
    """End the login that a token belongs to, or a personal access token; recorded.

    All tokens of a login end, as in `oauth.revocation`. Does nothing if they have ended already.
    """
    row = found.row
    if row is None or found.ended:
        return
    if isinstance(row, PersonalToken):
        active_personal_tokens.end(ctx, row.id, REVOKED_WHY, user_id=row.user_id)
    else:
        families.end(ctx, row.id, REVOKED_WHY, user_id=row.user_id, client_id=row.client_id)


def _known_to(ctx: Context, kind: str, row: Family | PersonalToken) -> KnownTo:
    """Who sees an active token as such: what `introspection` does, in words."""
    if isinstance(row, PersonalToken):
        return KnownTo((_SERVERS,), ((_CLIENTS, "only resource servers are sent such a token"),))
    if kind == REFRESH:
        return KnownTo((_OWN,), ((_SERVERS, "only its own client may use a refresh token"),))
    known = credentials.unpack(row.facts)
    if known.audience is None:
        if not known.third_party:
            return KnownTo((_OWN, _SERVERS))
        why = (
            "it is that of a third party, and for no resource: the client has to ask for one"
            " (`resource`), or to have a default (`authsite client update --default-resource`)"
        )
        return KnownTo((_OWN,), ((_SERVERS, why),))
    resource = resources.find(ctx, known.audience)
    if resource is None:
        why = f"{known.audience} is not registered any more (`authsite resource list`)"
        return KnownTo((_OWN,), ((_SERVERS, why),))
    if resource.client_id is None:
        why = f"{known.audience} has none (`authsite resource update --client`)"
        return KnownTo((_OWN,), ((_SERVERS, why),))
    server = f"the resource server {resource.client_id}"
    why = f"it is for {known.audience} alone"
    return KnownTo((_OWN, server), (("all other resource servers", why),))


def _decode(ctx: Context, text: str) -> tuple[str, BearerToken | None]:
    keys = ctx.services.keys
    if personal := decode_personal_expired(keys, text):
        return PERSONAL_TOKEN, personal
    for kind in (ACCESS, REFRESH):
        if token := decode_expired(keys, kind, text):
            return kind, token
    return ACCESS, access_tokens.decode(ctx.services, text)


def _why_ended(
    ctx: Context,
    row: Family | PersonalToken | None,
    user: User | None,
    client: Client | None,
) -> str | None:
    """Why no token of the row is active; None if one may be."""
    if row is None:
        return "its login is not in the database: it expired, or its user or client was deleted"
    if row.revoked_at:
        return f"revoked at {clock.rfc3339(row.revoked_at)}: {row.revoked_why}"
    if user and user.disabled_at:
        return f"the user was disabled at {clock.rfc3339(user.disabled_at)}"
    if user and user.epoch != row.user_epoch:
        return (
            "all sign-ins of the user were ended later (`authsite audit list --user` says when and "
            "why)"
        )
    if client and client.disabled_at:
        return f"the client was disabled at {clock.rfc3339(client.disabled_at)}"
    if client and client.epoch != row.client_epoch:
        return "all tokens of the client were ended later: it was disabled, or may ask for less"
    return None


def _why_inactive(
    ctx: Context,
    kind: str,
    token: BearerToken,
    row: Family | PersonalToken | None,
    user: User | None,
) -> str | None:
    """Why this token of a row is not active, though others may be."""
    if token.expires <= clock.now().timestamp():
        return "expired"
    if isinstance(row, Family) and isinstance(token, Token):
        found = _why_replaced(ctx, kind, token, row)
        if not found and kind == REFRESH:
            found = _why_not_refreshable(ctx, row)
        if found:
            return found
    if user and ctx.settings.confirmation_required and user.email_verified_at is None:
        return "the user has not confirmed the e-mail address"
    if (
        user
        and isinstance(row, Family)
        and not is_met(ctx.settings, credentials.amr_of(row.facts), clock.now())
    ):
        return "its sign-in has no second factor, which second-factor = required asks of everyone"
    return None


def _why_replaced(ctx: Context, kind: str, token: Token, family: Family) -> str | None:
    """Why a token is not of the present generation of its family; None if it is."""
    now = clock.now()
    behind = family.generation - token.generation
    in_grace = within_grace(now, family.rotated_at, ctx.settings.refresh_grace)
    rescoped = kind == ACCESS and family.rescoped
    if behind < 0:
        return "newer than its login in the database, which was restored from a backup"
    if behind > 1 or (behind == 1 and (rescoped or not in_grace)):
        return "replaced: its login was refreshed since, and has newer tokens"
    return None


def _why_not_refreshable(ctx: Context, family: Family) -> str | None:
    """Why a refresh token of the present generation gives no new tokens; None if it does."""
    limit = family_limit(family.created_at, ctx.settings)
    if limit and limit <= clock.now():
        return "its login is older than family-lifetime"
    client = ctx.db.get(Client, family.client_id) if family.client_id else None
    if client and not may_refresh(client.type, client.grant_types):
        return "the grant types of its client do not have refresh_token"
    return None
