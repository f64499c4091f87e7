"""The one query behind every use of a token: a family that lives, with its user and client.

A family lives while it is not revoked, its user and client are enabled, and their epochs are
those that were copied into it when the credential was checked. A dead family is simply no row.
"""

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import and_, bindparam, literal_column, or_, select

from authsite.db import Database
from authsite.users.account import COLUMNS as USER_COLUMNS
from authsite.users.account import Account
from authsite.users.models import User

from .models import Client, Family
from .tokens import Token

_FROM = (
    Family.__table__.outerjoin(
        User.__table__,
        and_(
            User.id == Family.user_id,
            User.epoch == Family.user_epoch,
            User.disabled_at.is_(None),
        ),
    )
).outerjoin(
    Client.__table__,
    and_(
        Client.id == Family.client_id,
        Client.epoch == Family.client_epoch,
        Client.disabled_at.is_(None),
    ),
)

LIVE = (
    select(Family.id)
    .select_from(_FROM)
    .where(
        Family.id == bindparam("family_id"),
        Family.revoked_at.is_(None),
        or_(Family.owner_kind == literal_column("'client'"), User.id.is_not(None)),
        or_(Family.client_id.is_(None), Client.id.is_not(None)),
    )
)
# The id is known from the token: reading it back would only be converted for nothing.
_LIVE_WITH_USER = LIVE.with_only_columns(
    Family.client_id,
    Family.generation,
    Family.rotated_at,
    Family.rescoped,
    Family.scope,
    Client.name,
    *USER_COLUMNS,
)
_USER_AT = -len(USER_COLUMNS)


class LiveFamily(NamedTuple):
    """A living family, as the guard sees it; ``account`` is None where it acts for no user."""

    id: UUID
    client_id: UUID | None
    generation: int
    rotated_at: datetime
    rescoped: bool
    scope: str
    client_name: str | None
    account: Account | None


def find_live(
    database: Database, token: Token, now: datetime, grace: timedelta
) -> LiveFamily | None:
    """The family behind an access token, or None if the token is not good any more.

    Good is the row's own generation, and the one before it while less than ``grace`` has passed
    since the refresh, unless that refresh changed the scope.
    """
    row = database.points.read(_LIVE_WITH_USER, {"family_id": token.family_id})
    if row is None:
        return None
    account = Account(*row[_USER_AT:]) if row[_USER_AT] else None
    family = LiveFamily._make((token.family_id, *row[:_USER_AT], account))
    if token.generation == family.generation:
        return family
    previous = token.generation == family.generation - 1 and not family.rescoped
    return family if previous and within_grace(now, family.rotated_at, grace) else None


def within_grace(now: datetime, rotated_at: datetime, grace: timedelta) -> bool:
    """Whether a refresh at ``rotated_at`` is less than ``grace`` ago; no grace means never.

    A request that read the clock before the refresh it met, or a machine whose clock is behind,
    sees a refresh in the future: for them no time has passed yet.
    """
    return max(timedelta(), now - rotated_at) < grace
