"""The query of every use of a token: an active family, with its user and client.

A family is active while it is not revoked, its user and client are enabled, and their epochs are
those that were copied into it when the credential was checked. For an inactive family the query
returns no row.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, cast
from uuid import UUID

from sqlalchemy import FromClause, Table, and_, bindparam, case, func, literal_column, or_, select
from sqlalchemy.orm import aliased, outerjoin

from authsite.oauth.models import Client, Family, PersonalToken
from authsite.platform.db import Database, PreparedQuery
from authsite.platform.db.last_used import LastUsedTracker
from authsite.platform.db.prepared import Reader
from authsite.platform.settings import Settings
from authsite.sign_in.credentials import unpack
from authsite.sign_in.factors.policy import is_met
from authsite.users.account import ACCOUNT_COLUMNS, Account
from authsite.users.models import User, user_of

from .format import Token

FAMILIES = cast(Table, Family.__table__)


def with_owners(rows: FromClause, model: type[Family] | type[PersonalToken]) -> FromClause:
    """``rows`` of a table, with the user and the client that each of them has.

    Both are NULL unless they are enabled, and have the epoch that was copied into the row.
    """
    with_user = rows.outerjoin(
        User.__table__,
        user_of(model),
    )
    return with_user.outerjoin(
        Client.__table__,
        and_(
            Client.id == model.client_id,
            Client.epoch == model.client_epoch,
            Client.disabled_at.is_(None),
        ),
    )


_IS_ACTIVE = and_(
    Family.revoked_at.is_(None),
    or_(Family.owner_kind == literal_column("'client'"), User.id.is_not(None)),
    or_(Family.client_id.is_(None), Client.id.is_not(None)),
)
ACTIVE_FAMILIES = select(Family.id).select_from(with_owners(FAMILIES, Family)).where(_IS_ACTIVE)
ACTIVE_FAMILY = ACTIVE_FAMILIES.where(Family.id == bindparam("family_id"))


class ActiveToken(NamedTuple):
    """The family of an active token; ``account`` is None where the token acts for no user.

    It has no id: the token itself has it, and converting the column costs time.
    """

    generation: int
    client_id: UUID | None
    rotated_at: datetime
    rescoped: bool
    scope: str
    client_name: str | None
    facts: str | None
    auth_at: datetime
    account: Account | None


_COLUMNS = (
    Family.client_id,
    Family.rotated_at,
    Family.rescoped,
    Family.scope,
    Client.name.label("client_name"),
    Family.facts,
    func.coalesce(Family.auth_at, Family.created_at).label("auth_at"),
    *ACCOUNT_COLUMNS,
)
ACTIVE_TOKEN = PreparedQuery(
    ACTIVE_FAMILY.with_only_columns(Family.generation, *_COLUMNS), ActiveToken
)


class ActiveFamily(NamedTuple):
    """A row of a query of several families."""

    family_id: UUID
    active: ActiveToken


BATCH = 64  # families in one query
ACTIVE_TOKENS = PreparedQuery(
    ACTIVE_FAMILIES.where(
        Family.id.in_([bindparam(f"id{number}", type_=Family.id.type) for number in range(BATCH)])
    ).with_only_columns(Family.id.label("family_id"), Family.generation, *_COLUMNS),
    ActiveFamily,
    cache_rows=20_000,
)


class AskingClient(NamedTuple):
    """An enabled client that asks about a token, and the family of the token if it is active.

    The secret is not checked yet.
    """

    id: UUID
    type: str
    secret_hash: str
    previous_secret_hash: str | None
    grant_types: str | None
    """As stored; None for those of the type."""
    session_id: UUID | None
    """The browser session of the family, active or not."""
    active: ActiveToken | None


ASKING = aliased(Client, name="asking")
ASKING_COLUMNS = tuple(
    getattr(ASKING, name)
    for name in ("id", "type", "secret_hash", "previous_secret_hash", "grant_types")
)
ASKING_CLIENT = PreparedQuery(
    select(
        *ASKING_COLUMNS,
        Family.session_id,
        # NULL for an inactive family: the client is read in any case.
        case((_IS_ACTIVE, Family.generation)).label("generation"),
        *_COLUMNS,
    )
    .select_from(
        with_owners(outerjoin(ASKING, FAMILIES, Family.id == bindparam("family_id")), Family)
    )
    .where(ASKING.id == bindparam("client_id"), ASKING.disabled_at.is_(None)),
    AskingClient,
)


def find_active(
    reader: Reader, token: Token, now: datetime, grace: timedelta
) -> ActiveToken | None:
    """The family of an access token, or None if the token is inactive.

    Active are the tokens of the family's present generation, and those of the previous one while
    less than ``grace`` has passed since the refresh, unless that refresh changed the scope.
    """
    active = ACTIVE_TOKEN.read(reader, family_id=token.family_id)
    return active if active and is_current(token, active, now, grace) else None


def find_together(database: Database, ids: Sequence[UUID]) -> dict[UUID, ActiveToken]:
    """The active families of at most `BATCH` ids in one query, whatever the token's generation."""
    filled = [*ids, *[ids[0]] * (BATCH - len(ids))]
    rows = ACTIVE_TOKENS.all(database, **{f"id{number}": id_ for number, id_ in enumerate(filled)})
    return {row.family_id: row.active for row in rows}


def is_current(token: Token, active: ActiveToken, now: datetime, grace: timedelta) -> bool:
    """Whether a token of an active family is active: the rule of `find_active` on generations."""
    if token.generation == active.generation:
        return True
    previous = token.generation == active.generation - 1 and not active.rescoped
    return previous and within_grace(now, active.rotated_at, grace)


def has_factor(
    settings: Settings, token: Token, account: Account | None, facts: str | None, now: datetime
) -> bool:
    """Whether the sign-in has the second factor that the setting `second-factor` requires now."""
    return account is None or is_met(settings, unpack(facts).amr, now)


def note_use(tracker: LastUsedTracker, token: Token, active: ActiveToken, now: datetime) -> None:
    """Note that the family of an access token is used ``now``; each refresh is a use, too."""
    tracker.note(FAMILIES, token.family_id, active.rotated_at, now)


def within_grace(now: datetime, rotated_at: datetime, grace: timedelta) -> bool:
    """Whether a refresh at ``rotated_at`` is less than ``grace`` ago; False without a grace.

    ``rotated_at`` may be later than ``now``, if another machine's clock is ahead or the refresh
    came after this request read its clock. Then no time has passed yet.
    """
    return max(timedelta(), now - rotated_at) < grace
