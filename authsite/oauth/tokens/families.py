"""Token families: when the login was, end one, or exempt one from a raised epoch.

A family is one row. `issue` inserts it, and `refresh` rotates it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, bindparam, or_, select, update

from authsite.oauth.models import Family, PersonalToken
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Cause, details_of, record, record_apart
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.db.batches import Batch, sweep_table
from authsite.platform.runtime import clock
from authsite.platform.settings import Settings
from authsite.sign_in import credentials

from .active_personal import ACTIVE_PERSONAL_TOKENS

SCOPE_LOST = "no group gives its scope"  # the column has 32 characters


class EndedFamily(NamedTuple):
    """A family that was unrevoked until now."""

    id: UUID


def revoke(ctx: Context, family_id: UUID, why: str) -> bool:
    """End a family at once on every process; whether it was unrevoked until now."""
    ended = ctx.db.scalar(
        update(Family)
        .where(Family.id == family_id, Family.revoked_at.is_(None))
        .values(revoked_at=clock.now(), revoked_why=why)
        .returning(Family.id)
        .execution_options(synchronize_session=False)
    )
    return ended is not None


def end(
    ctx: Context,
    family_id: UUID,
    why: str,
    *,
    user_id: UUID | None,
    client_id: UUID | None,
    cause: Cause | None = None,
) -> None:
    """End a family at the request of its holder; of concurrent requests one is recorded."""
    if revoke(ctx, family_id, why):
        details = details_of(cause, family=str(family_id), why=why)
        record(ctx, Event.TOKEN_REVOKED, user_id=user_id, client_id=client_id, details=details)


REVOKE = PreparedQuery(
    update(Family)
    .where(Family.id == bindparam("family_id"), Family.revoked_at.is_(None))
    .values(
        revoked_at=bindparam("now", type_=Family.revoked_at.type),
        revoked_why=bindparam("why", type_=Family.revoked_why.type),
    )
    .returning(Family.id),
    EndedFamily,
)


def end_apart(ctx: Context, family_id: UUID, why: str, user_id: UUID) -> None:
    """End a family of a user in a separate transaction, committed on return."""
    if REVOKE.one(ctx.database, family_id=family_id, now=clock.now(), why=why):
        details = {"family": str(family_id), "why": why}
        record_apart(ctx, Event.TOKEN_REVOKED, user_id=user_id, details=details)


def exempt(ctx: Context, user_id: UUID, family_id: UUID, epoch: int) -> None:
    """Exempt one family from a raised epoch of its user; ``epoch``: the new one.

    Does nothing unless the family is the user's and was active: its epoch must be the previous one.
    """
    ctx.db.execute(
        update(Family)
        .where(
            Family.id == family_id,
            Family.user_id == user_id,
            Family.user_epoch == epoch - 1,
            Family.revoked_at.is_(None),
        )
        .values(user_epoch=epoch)
        .execution_options(synchronize_session=False)
    )


def confirm(
    ctx: Context, user_id: UUID, family_id: UUID, amr: tuple[str, ...], at: datetime
) -> None:
    """Note that the user has proved again, ``at`` that moment and by ``amr``, to be who they are.

    What else holds for the login stays.
    """
    of_user = Family.id == family_id, Family.user_id == user_id
    stored = ctx.db.scalar(select(Family.facts).where(*of_user))
    known = credentials.unpack(stored)
    packed = credentials.pack(
        amr, audience=known.audience, third_party=known.third_party, client=known.client
    )
    ctx.db.execute(
        update(Family)
        .where(*of_user, Family.revoked_at.is_(None))
        .values(facts=packed, auth_at=at)
        .execution_options(synchronize_session=False)
    )


# Delete families whose tokens are all unusable, and unusable personal access tokens.
#
# A token whose row is deleted finds no row and is rejected like a forged one.


KEEP_REVOKED = timedelta(days=7)  # for investigations


def purge(connection: Connection, now: datetime, cfg: Settings) -> Iterator[Batch]:
    """Delete families of which both tokens have expired, and those revoked a week ago."""
    # The settings allow an access token that outlives its refresh token.
    expired_before = now - max(timedelta(0), cfg.expires_in - cfg.refresh_expires_in)
    unusable = or_(
        Family.refresh_expires_at <= expired_before,
        Family.revoked_at <= now - KEEP_REVOKED,
    )
    return sweep_table(connection, Family, unusable)


def purge_personal_tokens(connection: Connection, now: datetime, cfg: Settings) -> Iterator[Batch]:
    """Delete personal access tokens that have expired, and those revoked a week ago."""
    unusable = or_(
        PersonalToken.expires_at <= now,
        PersonalToken.revoked_at <= now - KEEP_REVOKED,
    )
    return sweep_table(connection, PersonalToken, unusable)


# Personal access tokens as lists show them.


@dataclass(frozen=True, slots=True)
class ListedToken:
    """An active personal access token; ``session_id``: of the session in which it was created."""

    id: UUID
    name: str
    scope: str
    created: datetime
    expires: datetime
    session_id: UUID
    used_at: datetime | None = None

    @property
    def last_used(self) -> datetime | None:
        """When it was last used, to the hour; None before the first use."""
        # The hour of the first use may have begun before the token was created.
        return self.used_at and max(self.used_at, self.created)


def list_personal(ctx: Context, user_id: UUID) -> list[ListedToken]:
    """The active personal access tokens of a user, the newest first."""
    rows = ctx.db.scalars(
        ACTIVE_PERSONAL_TOKENS.with_only_columns(PersonalToken).where(
            PersonalToken.user_id == user_id, PersonalToken.expires_at > clock.now()
        )
    )
    found = [
        ListedToken(
            row.id,
            row.name,
            row.scope,
            row.created_at,
            row.expires_at,
            row.session_id,
            row.used_at,
        )
        for row in rows
    ]
    return sorted(found, key=lambda each: (-each.created.timestamp(), each.id))  # they are few
