"""Token families: issue, rotate, revoke.

A family is one row. Its tokens are rebuilt from the row and the key, so refreshing adds no row,
and a second refresh within the grace gives the very same pair.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.orm import Session

from authsite.audit.service import event_values, record
from authsite.login.check import pass_steps
from authsite.users.account import Account

from . import scopes
from .desk import Desk
from .errors import InvalidGrant, TokenReused
from .live import within_grace
from .models import Family
from .statements import (
    INSERT_FOR_CLIENT,
    INSERT_FOR_USER,
    LIVE_FOR_REFRESH,
    RECORD_IF_ISSUED,
    SPEND,
    Spendable,
)
from .tokens import ACCESS, REFRESH, Token


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
            INSERT_FOR_USER if owner.user_id else INSERT_FOR_CLIENT,
            {f"new_{name}": value for name, value in values.items()},
        ),
        (RECORD_IF_ISSUED, {**event, "family_id": family_id}),
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


def _live(desk: Desk, token: Token, client_id: UUID) -> Spendable:
    found = desk.database.points.read(LIVE_FOR_REFRESH, {"family_id": token.family_id})
    if found is None:
        raise InvalidGrant
    row = Spendable(*found[: len(Spendable._fields)])
    if row.client_id != client_id:
        raise InvalidGrant  # a stranger's attempt changes nothing
    if row.user_id:
        pass_steps(desk.login_steps, desk.cfg, Account(*found[len(Spendable._fields) :]))
    return row


def _spend(desk: Desk, row: Spendable, asked_scope: str | None) -> TokenPair | None:
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
    [spent] = desk.database.points.write((SPEND, changed))
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
