"""Token revocation by a client (RFC 7009), and by the holder of a token: logout."""

from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, select

from authsite.oauth.clients.authentication import AuthenticatedClient
from authsite.oauth.introspection_reasons import Inactive, TokenStateReason
from authsite.oauth.models import Family
from authsite.oauth.oidc import access_tokens
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.db.prepared import columns_of

from . import active_personal, families
from .format import ACCESS, REFRESH, BearerToken, PersonalTokenValues, decode_expired, kind_of


class RevocableFamily(NamedTuple):
    """A family of the client that is not revoked."""

    id: UUID
    user_id: UUID | None


REVOCABLE_FAMILY = PreparedQuery(
    select(*columns_of(Family, RevocableFamily)).where(
        Family.id == bindparam("family_id"),
        Family.client_id == bindparam("client_id"),
        Family.revoked_at.is_(None),
    ),
    RevocableFamily,
)


def revoke(ctx: Context, client: AuthenticatedClient, text: str) -> None:
    """End the family of an access or refresh token that was issued to ``client``.

    Section 2.1: with a token all tokens of the same login end. Any other text has no effect, and
    the caller learns nothing about it (section 2.2): for the operator this raises `Inactive`.
    """
    keys = ctx.services.keys
    # Whether it has expired or not: the other tokens of its family may be active.
    token = (
        decode_expired(keys, ACCESS, text)
        or decode_expired(keys, REFRESH, text)
        or access_tokens.decode(ctx.services, text)
    )
    if token is None:
        raise Inactive(TokenStateReason.NOT_A_TOKEN, client.id, sent=kind_of(text))
    family = REVOCABLE_FAMILY.one(ctx.database, family_id=token.family_id, client_id=client.id)
    if family is None:
        raise Inactive(TokenStateReason.NOT_REVOCABLE, client.id, sent=kind_of(text))
    families.end(ctx, family.id, "revocation", user_id=family.user_id, client_id=client.id)


def log_out(ctx: Context, token: BearerToken, user_id: UUID | None, client_id: UUID | None) -> None:
    """End the family of an access token, or a personal access token alone, at its holder's request.

    ``user_id`` and ``client_id``: whom it acts for, and the client that it was issued to.
    """
    if not isinstance(token, PersonalTokenValues):
        families.end(ctx, token.family_id, "logout", user_id=user_id, client_id=client_id)
    elif user_id:
        active_personal.end(ctx, token.id, "logout", user_id=user_id)
