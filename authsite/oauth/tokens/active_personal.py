"""Active personal access tokens: the query of every use, and their end.

A token is active while it is not revoked, its user and the client of the session in which it was
created are enabled, and their epochs are those that were copied into the row. Its expiry is in its
text, and in the row for lists. `authsite.oauth.personal` creates and lists them.

A token from before this table is a row among the families; `authsite.oauth.tokens.active` finds it.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Table, and_, bindparam, case, or_, select, update
from sqlalchemy.orm import outerjoin

from authsite.oauth.models import Client, Family, PersonalToken
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Cause, details_of, record
from authsite.platform.context import Context
from authsite.platform.db import Database, PreparedQuery
from authsite.platform.db.last_used import LastUsedTracker
from authsite.platform.db.prepared import Reader
from authsite.platform.runtime import clock
from authsite.users.account import ACCOUNT_COLUMNS, Account
from authsite.users.models import User

from .active import ASKING, ASKING_COLUMNS, BATCH, with_owners
from .format import PersonalTokenValues

PERSONAL_TOKENS = cast(Table, PersonalToken.__table__)
_NEVER = datetime.min.replace(tzinfo=UTC)

_IS_ACTIVE = and_(
    PersonalToken.revoked_at.is_(None),
    User.id.is_not(None),
    or_(PersonalToken.client_id.is_(None), Client.id.is_not(None)),
)
ACTIVE_PERSONAL_TOKENS = (
    select(PersonalToken.id)
    .select_from(with_owners(PERSONAL_TOKENS, PersonalToken))
    .where(_IS_ACTIVE)
)


class ActivePersonalToken(NamedTuple):
    """The row of an active token, and its user."""

    scope: str
    account: Account


_COLUMNS = (PersonalToken.scope, *ACCOUNT_COLUMNS)
ACTIVE_PERSONAL_TOKEN = PreparedQuery(
    ACTIVE_PERSONAL_TOKENS.where(PersonalToken.id == bindparam("token_id")).with_only_columns(
        *_COLUMNS
    ),
    ActivePersonalToken,
)


class _FoundToken(NamedTuple):
    """A row of the query for several tokens."""

    token_id: UUID
    active: ActivePersonalToken


_FOUND_TOKENS = PreparedQuery(
    ACTIVE_PERSONAL_TOKENS.where(
        PersonalToken.id.in_(
            [bindparam(f"id{number}", type_=PersonalToken.id.type) for number in range(BATCH)]
        )
    ).with_only_columns(PersonalToken.id.label("token_id"), *_COLUMNS),
    _FoundToken,
    cache_rows=20_000,
)


class AskingAboutPersonal(NamedTuple):
    """An enabled client that asks about a personal access token, and that token if it is active.

    The secret is not checked yet.
    """

    id: UUID
    type: str
    secret_hash: str
    previous_secret_hash: str | None
    grant_types: str | None
    created_at: datetime | None
    active: ActivePersonalToken | None


ASKING_ABOUT_PERSONAL = PreparedQuery(
    select(
        *ASKING_COLUMNS,
        PersonalToken.created_at,
        # NULL for an inactive token: the client is read in any case.
        case((_IS_ACTIVE, PersonalToken.scope)).label("scope"),
        *ACCOUNT_COLUMNS,
    )
    .select_from(
        with_owners(
            outerjoin(ASKING, PERSONAL_TOKENS, PersonalToken.id == bindparam("token_id")),
            PersonalToken,
        )
    )
    .where(ASKING.id == bindparam("client_id"), ASKING.disabled_at.is_(None)),
    AskingAboutPersonal,
)


def find_active(reader: Reader, token: PersonalTokenValues) -> ActivePersonalToken | None:
    """The row of a token and its user, or None if the token is inactive."""
    return ACTIVE_PERSONAL_TOKEN.read(reader, token_id=token.id)


def find_together(database: Database, ids: Sequence[UUID]) -> dict[UUID, ActivePersonalToken]:
    """The active tokens of at most `BATCH` ids in one query."""
    filled = [*ids, *[ids[0]] * (BATCH - len(ids))]
    rows = _FOUND_TOKENS.all(database, **{f"id{number}": id_ for number, id_ in enumerate(filled)})
    return {row.token_id: row.active for row in rows}


def note_use(tracker: LastUsedTracker, token: PersonalTokenValues, now: datetime) -> None:
    """Note that a token is used ``now``. Its creation does not count as a use."""
    tracker.note(PERSONAL_TOKENS, token.id, _NEVER, now)


def end(
    ctx: Context, token_id: UUID, why: str, *, user_id: UUID, cause: Cause | None = None
) -> None:
    """Revoke a token of this user, on every process at once. Of several requests one records it."""
    _revoke(ctx, user_id, why, PersonalToken.id == token_id, cause)


def end_all(ctx: Context, user_id: UUID, why: str, cause: Cause | None = None) -> None:
    """Revoke all tokens of this user, and record each."""
    _revoke(ctx, user_id, why, PersonalToken.expires_at > clock.now(), cause)


def end_created_in(
    ctx: Context, user_id: UUID, session_id: UUID, cause: Cause | None = None
) -> None:
    """Revoke the active tokens that were created in a session of this user, and record each.

    Also those that an application has created whose tokens came from that session.
    """
    families = select(Family.id).where(Family.session_id == session_id, Family.user_id == user_id)
    created = or_(PersonalToken.session_id == session_id, PersonalToken.session_id.in_(families))
    _revoke_active(ctx, user_id, "its session was ended", created, cause)


def end_begun_with(ctx: Context, user_id: UUID, identity_id: UUID) -> None:
    """Revoke the active tokens of sessions that began with this identity, and record each."""
    created = PersonalToken.identity_id == identity_id
    _revoke_active(ctx, user_id, "its provider was disconnected", created, None)


def _revoke_active(
    ctx: Context, user_id: UUID, why: str, which: ColumnElement[bool], cause: Cause | None
) -> None:
    active = ACTIVE_PERSONAL_TOKENS.where(
        PersonalToken.user_id == user_id, which, PersonalToken.expires_at > clock.now()
    )
    ids = ctx.db.scalars(active).all()
    _revoke(ctx, user_id, why, PersonalToken.id.in_(ids), cause)


def _revoke(
    ctx: Context, user_id: UUID, why: str, which: ColumnElement[bool], cause: Cause | None
) -> None:
    ended = ctx.db.scalars(
        update(PersonalToken)
        .where(PersonalToken.user_id == user_id, which, PersonalToken.revoked_at.is_(None))
        .values(revoked_at=clock.now(), revoked_why=why)
        .returning(PersonalToken.id)
        .execution_options(synchronize_session=False)
    )
    for token_id in ended:
        details = details_of(cause, token=str(token_id), why=why)
        record(ctx, Event.TOKEN_REVOKED, user_id=user_id, details=details)
