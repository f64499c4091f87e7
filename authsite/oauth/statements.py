"""The statements of token families, for `Points`.

Built once: writing them anew for every request would cost more than running them.
"""

from datetime import datetime
from typing import Any, NamedTuple, cast
from uuid import UUID

from sqlalchemy import Table, Update, bindparam, exists, insert, select, update

from authsite.audit.service import recording_if
from authsite.users.account import COLUMNS as USER_COLUMNS
from authsite.users.models import User

from .live import LIVE
from .models import Client, Family


class Spendable(NamedTuple):
    """A living family, as a refresh sees it."""

    id: UUID
    client_id: UUID
    generation: int
    rotated_at: datetime
    rescoped: bool
    scope: str
    granted_scope: str
    refresh_expires_at: datetime
    user_id: UUID | None


_FAMILY = tuple(getattr(Family, name) for name in Spendable._fields)
LIVE_FOR_REFRESH = LIVE.with_only_columns(*_FAMILY, *USER_COLUMNS)
_NEVER_NEW = {"used_at", "revoked_at", "revoked_why"}


def _insert(*, for_user: bool) -> Any:
    """INSERT … SELECT from the owner's rows, as long as these are what was checked."""
    columns = [c for c in Family.__table__.columns if c.name not in _NEVER_NEW]
    given = {c.name: bindparam(f"new_{c.name}", type_=c.type) for c in columns}
    owners: Any = Client.__table__
    still_good = [Client.epoch == given["client_epoch"], Client.disabled_at.is_(None)]
    if for_user:
        owners = owners.join(User.__table__, User.id == given["user_id"])
        still_good += [User.epoch == given["user_epoch"], User.disabled_at.is_(None)]
    chosen = (
        select(*given.values())
        .select_from(owners)
        .where(Client.id == given["client_id"], *still_good)
    )
    # Into the table, not the class: the ORM would take the parameters for rows of a bulk insert.
    table = cast(Table, Family.__table__)
    return insert(table).from_select(columns, chosen).returning(table.c.id)


def _spending() -> Update:
    """UPDATE … of the row at its generation: of requests that race, one spends it."""
    changing = ("generation", "rotated_at", "refresh_expires_at", "scope", "rescoped")
    columns = Family.__table__.c
    return (
        update(Family)
        .where(
            Family.id == bindparam("family_id", type_=columns.id.type),
            Family.generation == bindparam("spent", type_=columns.generation.type),
            Family.revoked_at.is_(None),
        )
        .values({name: bindparam(f"new_{name}", type_=columns[name].type) for name in changing})
        .returning(Family.generation)
    )


INSERT_FOR_USER = _insert(for_user=True)
INSERT_FOR_CLIENT = _insert(for_user=False)
RECORD_IF_ISSUED = recording_if(exists().where(Family.id == bindparam("family_id")))
SPEND = _spending()
