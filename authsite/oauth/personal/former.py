"""Personal access tokens from before the table `PersonalToken`: families of a separate kind.

They go on until they expire, a year after the last one was created. While processes of the version
before may run, which know only these, new tokens are created here, too. Such a token knows neither
the session nor the client that it was created with. The version that no longer reads them drops
``families.kind`` and ``families.name``.
"""

from datetime import datetime
from uuid import UUID

from sqlalchemy import insert

from authsite.oauth import tokens
from authsite.oauth.active import ACTIVE_FAMILIES
from authsite.oauth.listed import ListedToken
from authsite.oauth.models import FORMER_PERSONAL_TOKEN, Family
from authsite.platform.context import Context
from authsite.users.account import Account


def create(ctx: Context, account: Account, made: ListedToken) -> str:
    """Insert a token as the version before does; its text."""
    info = ctx.request_info
    ctx.db.execute(
        insert(Family).values(
            id=made.id,
            kind=FORMER_PERSONAL_TOKEN,
            owner_kind="user",
            user_id=account.id,
            user_epoch=account.epoch,
            granted_scope=made.scope,
            scope=made.scope,
            rescoped=False,
            generation=0,
            created_at=made.created,
            rotated_at=made.created,
            refresh_expires_at=made.expires,
            address=info.address,
            agent=info.agent,
            name=made.name,
        )
    )
    sealed = tokens.Token(made.id, 0, int(made.expires.timestamp()), personal=True)
    return tokens.encode(ctx.services.keys, tokens.PERSONAL_TOKEN, sealed)


def list_active(ctx: Context, user_id: UUID, now: datetime) -> list[ListedToken]:
    """The active tokens of a user."""
    rows = ctx.db.scalars(
        ACTIVE_FAMILIES.with_only_columns(Family).where(
            Family.user_id == user_id,
            Family.kind == FORMER_PERSONAL_TOKEN,
            Family.refresh_expires_at > now,
        )
    )
    return [
        ListedToken(
            row.id, row.name or "", row.scope, row.created_at, row.refresh_expires_at, row.used_at
        )
        for row in rows
    ]
