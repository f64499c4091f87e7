"""Token families: issue, rotate, revoke.

A family is one row. Its tokens are rebuilt from the row and the key, so refreshing adds no row,
and a second refresh within the grace gives the very same pair.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any, NamedTuple, cast
from uuid import UUID

from sqlalchemy import Table, Update, bindparam, exists, insert, select, update
from sqlalchemy.orm import Session

from authsite.audit.service import event_values, record, recording_if
from authsite.login.check import pass_steps
from authsite.users.account import COLUMNS as USER_COLUMNS
from authsite.users.account import Account
from authsite.users.models import User

from . import scopes
from .desk import Desk
from .errors import InvalidGrant, TokenReused
from .live import LIVE, within_grace
from .models import Client, Family
from .tokens import ACCESS, REFRESH, Token


class _Spendable(NamedTuple):
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


_FAMILY = tuple(getattr(Family, name) for name in _Spendable._fields)
_LIVE_FOR_REFRESH = LIVE.with_only_columns(*_FAMILY, *USER_COLUMNS)
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


# Built once: writing them anew for every login would cost more than running them.
_INSERT_FOR_USER = _insert(for_user=True)
_INSERT_FOR_CLIENT = _insert(for_user=False)
_RECORD_IF_ISSUED = recording_if(exists().where(Family.id == bindparam("family_id")))
_SPEND = _spending()


@dataclass(frozen=True, slots=True)
class Owner:
    """Whom a family belongs to, with the epochs seen when the credentials were checked."""

    client_id: UUID
    client_epoch: int
    user_id: UUID | None = None
    user_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class TokenPair:
    """An access and a refresh token; ``expires_in`` in whole seconds of remaining life."""

    access_token: str
    refresh_token: str
    expires_in: int
    scope: str


def issue(desk: Desk, owner: Owner, scope: str) -> TokenPair:
    """A new family for ``owner`` and its first pair.

    One INSERT that selects from the owner's rows: if the client or user was disabled or its
    epoch raised since the credentials were checked, nothing is inserted and `InvalidGrant` is
    raised. It and the audit event ``token.issued`` are committed on return, as one transaction.
    """
    now, source = desk.now, desk.source
    family_id = UUID(bytes=secrets.token_bytes(16), version=4)
    refresh_expires = _expiry(now, desk.cfg.refresh_expires_in)
    values: dict[str, Any] = {
        "id": family_id,
        "kind": "oauth",
        "client_id": owner.client_id,
        "client_epoch": owner.client_epoch,
        "owner_kind": "user" if owner.user_id else "client",
        "user_id": owner.user_id,
        "user_epoch": owner.user_epoch,
        "granted_scope": scope,
        "scope": scope,
        "rescoped": False,
        "generation": 0,
        "created_at": now,
        "rotated_at": now,
        "refresh_expires_at": refresh_expires,
        "address": source.address,
        "agent": source.agent,
    }
    event = event_values(
        now, source, "token.issued", user_id=owner.user_id, client_id=owner.client_id,
        details={"family": str(family_id)},
    )  # fmt: skip
    issued, _recorded = desk.database.points.write(
        (
            _INSERT_FOR_USER if owner.user_id else _INSERT_FOR_CLIENT,
            {f"new_{name}": value for name, value in values.items()},
        ),
        (_RECORD_IF_ISSUED, {**event, "family_id": family_id}),
    )
    if issued is None:
        raise InvalidGrant
    return _pair(desk, family_id, 0, now, refresh_expires, scope)


def rotate(desk: Desk, token: Token, client_id: UUID, asked_scope: str | None) -> TokenPair:
    """The successor pair of the refresh token ``token``.

    Refresh token rotation with reuse detection (RFC 9700, section 4.14): of racing refreshes one
    wins; the generation before, within the grace, gets the same pair again; anything older
    revokes the family and raises `TokenReused`. Raises `InvalidGrant` for a family that is dead,
    another client's or behind its token, `InvalidScope`, and what a login step raises; these
    write nothing.
    """
    row = _live(desk, token, client_id)
    if token.generation == row.generation:
        pair = _spend(desk, row, asked_scope)
        if pair:
            return pair
        row = _live(desk, token, client_id)  # another request was faster: see what it left
    if token.generation > row.generation:
        raise InvalidGrant  # a database restored from before this token
    if token.generation == row.generation - 1 and within_grace(
        desk.now, row.rotated_at, desk.cfg.refresh_grace
    ):
        return _pair(
            desk, row.id, row.generation, row.rotated_at, row.refresh_expires_at, row.scope
        )
    if revoke(desk.db, desk.now, row.id, "reuse"):  # of racing replays one goes on record
        record(
            desk.db, desk.now, desk.source, "token.reused", user_id=row.user_id,
            client_id=row.client_id, details={"family": str(row.id)},
        )  # fmt: skip
    raise TokenReused


def revoke(db: Session, now: datetime, family_id: UUID, why: str) -> bool:
    """End a family at once on every process; whether it was living until now."""
    ended: Any = db.execute(
        update(Family)
        .where(Family.id == family_id, Family.revoked_at.is_(None))
        .values(revoked_at=now, revoked_why=why)
        .execution_options(synchronize_session=False)
    )
    return bool(ended.rowcount)


def _live(desk: Desk, token: Token, client_id: UUID) -> _Spendable:
    found = desk.database.points.read(_LIVE_FOR_REFRESH, {"family_id": token.family_id})
    if found is None:
        raise InvalidGrant
    row = _Spendable(*found[: len(_FAMILY)])
    if row.client_id != client_id:
        raise InvalidGrant  # a stranger's attempt changes nothing
    if row.user_id:
        pass_steps(desk.login_steps, desk.cfg, Account(*found[len(_FAMILY) :]))
    return row


def _spend(desk: Desk, row: _Spendable, asked_scope: str | None) -> TokenPair | None:
    """The next pair, if this request is the one that spends the generation (trap of races)."""
    scope = scopes.narrowed(asked_scope, row.granted_scope)
    refresh_expires = _expiry(desk.now, desk.cfg.refresh_expires_in)
    changed = {
        "family_id": row.id,
        "spent": row.generation,
        "new_generation": row.generation + 1,
        "new_rotated_at": desk.now,
        "new_refresh_expires_at": refresh_expires,
        "new_scope": scope,
        "new_rescoped": set(scope.split()) != set(row.scope.split()),
    }
    [spent] = desk.database.points.write((_SPEND, changed))
    if spent is None:
        return None
    return _pair(desk, row.id, row.generation + 1, desk.now, refresh_expires, scope)


def _expiry(now: datetime, lifetime: timedelta) -> datetime:
    """``lifetime`` from now, on the next whole second: the precision a token has."""
    return datetime.fromtimestamp(ceil(now.timestamp()), now.tzinfo) + lifetime


def _pair(
    desk: Desk,
    family_id: UUID,
    generation: int,
    rotated_at: datetime,
    refresh_expires_at: datetime,
    scope: str,
) -> TokenPair:
    access_expires = _expiry(rotated_at, desk.cfg.expires_in)
    encode = desk.codec.encode
    return TokenPair(
        encode(ACCESS, family_id, generation, int(access_expires.timestamp())),
        encode(REFRESH, family_id, generation, int(refresh_expires_at.timestamp())),
        # In the grace a short-lived token may be out of date before it is asked for again.
        max(0, int((access_expires - desk.now).total_seconds())),
        scope,
    )
