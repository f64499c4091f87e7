"""Where a user is signed in: token families and web sessions, in one list."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import and_, select, update
from sqlalchemy.orm import Session

from authsite.audit.service import record
from authsite.http.source import Source
from authsite.login import sessions
from authsite.login.models import WebSession
from authsite.users.models import User

from . import families
from .models import Client, Family


@dataclass(frozen=True, slots=True)
class SignIn:
    """One place; ``kind`` is ``browser`` or ``app``."""

    id: UUID
    kind: str
    client: str | None
    address: str | None
    agent: str | None
    created: datetime
    last_used: datetime
    current: bool


def listing(db: Session, now: datetime, user_id: UUID, current: UUID | None) -> list[SignIn]:
    """All places where the user is signed in, the current one first, then the last used."""
    rows = db.execute(
        select(Family, Client.name)
        .join(User, and_(User.id == Family.user_id, User.epoch == Family.user_epoch))
        .outerjoin(Client, Client.id == Family.client_id)
        .where(
            Family.user_id == user_id,
            Family.revoked_at.is_(None),
            Family.refresh_expires_at > now,
            Client.disabled_at.is_(None),
        )
    )
    found = [
        SignIn(
            family.id, "app", name, family.address, family.agent,
            family.created_at, max(family.rotated_at, family.used_at or family.rotated_at),
            family.id == current,
        )
        for family, name in rows
    ]  # fmt: skip
    found += [
        SignIn(
            row.id, "browser", None, row.address, row.agent,
            row.created_at, row.used_at, row.id == current,
        )
        for row in sessions.listing(db, now, user_id)
    ]  # fmt: skip
    return sorted(found, key=lambda item: (not item.current, -item.last_used.timestamp()))


def end(db: Session, now: datetime, source: Source, user_id: UUID, id: UUID) -> bool:
    """End one place of this user; whether there was one (IDOR: another user's is not found)."""
    if sessions.end(db, now, source, user_id, id):
        return True
    family = db.get(Family, id)
    if family is None or family.user_id != user_id or family.revoked_at is not None:
        return False
    if not families.revoke(db, now, id, "signed out"):
        return False  # another request was faster
    record(
        db, now, source, "token.revoked", user_id=user_id, client_id=family.client_id,
        details={"family": str(id), "why": "signed out"},
    )  # fmt: skip
    return True


def keep(db: Session, epoch: int, *, family_id: UUID | None, session_id: UUID | None) -> None:
    """Write the user's new epoch to the one family or session that stays."""
    if family_id:
        db.execute(
            update(Family)
            .where(Family.id == family_id, Family.revoked_at.is_(None))
            .values(user_epoch=epoch)
            .execution_options(synchronize_session=False)
        )
    if session_id:
        db.execute(
            update(WebSession)
            .where(WebSession.id == session_id)
            .values(user_epoch=epoch)
            .execution_options(synchronize_session=False)
        )
