"""Issue the first token pair of a new family, for the grants that check a credential."""

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID, uuid4

from sqlalchemy import FromClause, bindparam, exists, insert, select
from sqlalchemy.exc import IntegrityError

from authsite import clock
from authsite.audit.service import event_values, recording_if
from authsite.context import Context
from authsite.db import PreparedQuery, run_together
from authsite.users.models import User, unchanged_since

from .active import FAMILIES
from .errors import InvalidGrant
from .models import OAUTH, Client, Family
from .tokens import Generation, TokenPair, encode_pair, refresh_expiry


@dataclass(frozen=True, slots=True)
class Owner:
    """The client and user of a family, with the epochs read when the credentials were checked."""

    client_id: UUID
    client_epoch: int
    user_id: UUID | None = None
    user_epoch: int | None = None


class IssuedFamily(NamedTuple):
    """A family that was inserted."""

    id: UUID


_NULL_AT_FIRST = {"used_at", "revoked_at", "revoked_why", "name"}


def _issue_query(*, for_user: bool) -> PreparedQuery[IssuedFamily]:
    """INSERT … SELECT from the owner's rows, where these still are what was checked."""
    columns = [c for c in FAMILIES.columns if c.name not in _NULL_AT_FIRST]
    new = {c.name: bindparam(f"new_{c.name}", type_=c.type) for c in columns}
    owners: FromClause = Client.__table__
    unchanged = [Client.epoch == new["client_epoch"], Client.disabled_at.is_(None)]
    if for_user:
        owners = owners.join(User.__table__, User.id == new["user_id"])
        unchanged += unchanged_since(new["user_epoch"])
    values = (
        select(*new.values()).select_from(owners).where(Client.id == new["client_id"], *unchanged)
    )
    # Into the table, not the class: the ORM would take the parameters for rows of a bulk insert.
    insertion = insert(FAMILIES).from_select(columns, values).returning(FAMILIES.c.id)
    return PreparedQuery(insertion, IssuedFamily)


ISSUE_FOR_USER = _issue_query(for_user=True)
ISSUE_FOR_CLIENT = _issue_query(for_user=False)
RECORD_IF_ISSUED = recording_if(exists().where(Family.id == bindparam("family_id")))


def issue(ctx: Context, owner: Owner, scope: str, family_id: UUID | None = None) -> TokenPair:
    """Insert a new family for ``owner``, with this id if it is given; returns its first pair.

    One INSERT selects from the owner's rows. If the client or user was disabled or erased, or its
    epoch was raised, since the credentials were checked, it inserts nothing and `InvalidGrant` is
    raised. The INSERT and the audit event ``token.issued`` are one transaction, which is committed
    on return.
    """
    now, info = clock.now(), ctx.request_info
    family_id = family_id or uuid4()
    expires_at = refresh_expiry(now, now, ctx.settings)
    first = Generation(family_id, 0, now, expires_at, scope, now)
    values = {
        "new_id": family_id,
        "new_kind": OAUTH,
        "new_client_id": owner.client_id,
        "new_client_epoch": owner.client_epoch,
        "new_owner_kind": "user" if owner.user_id else "client",
        "new_user_id": owner.user_id,
        "new_user_epoch": owner.user_epoch,
        "new_granted_scope": scope,
        "new_scope": scope,
        "new_rescoped": False,
        "new_generation": first.number,
        "new_created_at": now,
        "new_rotated_at": now,
        "new_refresh_expires_at": first.refresh_expires_at,
        "new_address": info.address,
        "new_agent": info.agent,
    }
    event = event_values(
        info,
        "token.issued",
        user_id=owner.user_id,
        client_id=owner.client_id,
        details={"family": str(family_id)},
    )
    try:
        issued, _recorded = run_together(
            ctx.database,
            (ISSUE_FOR_USER if owner.user_id else ISSUE_FOR_CLIENT, values),
            (RECORD_IF_ISSUED, {**event, "family_id": family_id}),
        )
    except IntegrityError:
        issued = None  # PostgreSQL: the user's row was selected while a transaction deleted it
    if issued is None:
        raise InvalidGrant
    return encode_pair(ctx, first, now)
