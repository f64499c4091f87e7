"""What users change about themselves: profile, password, and the end of the account."""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from authsite.audit.service import record
from authsite.http.source import Source
from authsite.mail import outbox

from .errors import IdentifierTaken
from .models import LoginName, User


def change(
    db: Session,
    now: datetime,
    source: Source,
    user_id: uuid.UUID,
    name: str | None,
    names: Mapping[str, Any],
) -> User:
    """Set the name (unless None; empty takes it away) and login names (kind -> identifier).

    An identifier of None takes that login name away. Raises `IdentifierTaken`.
    """
    user = db.get_one(User, user_id, with_for_update=True)
    if name is not None:
        user.name = name or None
    for kind, identifier in names.items():
        _set_login_name(db, user, kind, identifier)
    user.updated_at = now
    record(db, now, source, "user.changed", user_id=user_id)
    return user


def change_password(
    db: Session,
    now: datetime,
    source: Source,
    user_id: uuid.UUID,
    epoch: int,
    password_hash: str,
) -> int | None:
    """Set a new password if the epoch is still the one that was seen; the new epoch, else None.

    Everything issued under the old password ends; the caller writes the new epoch to the one
    family or session that stays. The user is told by mail.
    """
    changed = db.execute(
        update(User)
        .where(User.id == user_id, User.epoch == epoch, User.disabled_at.is_(None))
        .values(epoch=User.epoch + 1, password_hash=password_hash, updated_at=now)
        .returning(User.email)
        .execution_options(synchronize_session=False)
    ).first()
    if changed is None:
        return None
    outbox.put(
        db, now, letter="password_changed", user_id=user_id, address=changed.email,
        base_url=source.base_url, language=source.language,
    )  # fmt: skip
    record(db, now, source, "user.password_changed", user_id=user_id)
    return epoch + 1


def end_others(db: Session, now: datetime, source: Source, user_id: uuid.UUID, epoch: int) -> int:
    """End all that was issued to the user; the new epoch, for the one row that stays."""
    db.execute(
        update(User)
        .where(User.id == user_id, User.epoch == epoch)
        .values(epoch=User.epoch + 1)
        .execution_options(synchronize_session=False)
    )
    record(db, now, source, "user.others_signed_out", user_id=user_id)
    return epoch + 1


def erase(db: Session, now: datetime, source: Source, user_id: uuid.UUID) -> None:
    """Erase the user: record, login names, tokens, sessions and waiting letters.

    The audit trail keeps the bare id, which says nothing any more. The address is free again
    at once, and whoever registers it gets nothing of the old account.
    """
    outbox.erase(db, user_id)
    db.execute(delete(User).where(User.id == user_id).execution_options(synchronize_session=False))
    record(db, now, source, "user.erased", user_id=user_id)


def _set_login_name(db: Session, user: User, kind: str, identifier: Any) -> None:
    setattr(user, kind, identifier.display if identifier else None)
    try:
        with db.begin_nested():
            db.execute(
                delete(LoginName)
                .where(LoginName.user_id == user.id, LoginName.kind == kind)
                .execution_options(synchronize_session=False)
            )
            if identifier:
                db.execute(
                    insert(LoginName),
                    [{"key": identifier.key, "kind": kind, "user_id": user.id}],
                )
    except IntegrityError:
        raise IdentifierTaken([kind]) from None
