"""Users: create, find, change, and end what was issued to them."""

import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from authsite.audit.service import record
from authsite.http.source import Source

from .errors import IdentifierTaken
from .models import LoginName, User


def create(
    db: Session,
    now: datetime,
    source: Source,
    names: Iterable[Any],
    password_hash: str | None,
    *,
    name: str | None = None,
    confirmed: bool = False,
) -> User:
    """A new user with its login names (``names``: identifiers with kind, key and display).

    Raises `IdentifierTaken` with the kinds that somebody has already; the database decides
    between two who ask at once.
    """
    names = list(names)
    displays = {item.kind: item.display for item in names}
    user = User(
        id=uuid.uuid4(),
        email=displays["email"],
        username=displays.get("username"),
        phone=displays.get("phone"),
        name=name,
        password_hash=password_hash,
        epoch=0,
        email_verified_at=now if confirmed else None,
        created_at=now,
        updated_at=now,
    )
    try:
        with db.begin_nested():
            db.add(user)
            db.flush()  # the names point at the user's row
            db.execute(
                insert(LoginName),
                [{"key": item.key, "kind": item.kind, "user_id": user.id} for item in names],
            )
    except IntegrityError:
        raise IdentifierTaken(taken(db, names)) from None
    record(db, now, source, "user.created", user_id=user.id)
    return user


def taken(db: Session, names: Iterable[Any]) -> list[str]:
    """The kinds among ``names`` whose key somebody has, whatever kind it is there."""
    kinds = {item.key: item.kind for item in names}
    keys = db.scalars(select(LoginName.key).where(LoginName.key.in_(kinds)))
    return sorted(kinds[key] for key in keys)


def find(db: Session, text: str) -> User | None:
    """The user with this id or login key (for the command line)."""
    # Two questions: with an OR between them neither would be answered by an index.
    with suppress(ValueError):
        if found := db.get(User, uuid.UUID(text)):
            return found
    by_name = select(User).join(LoginName, LoginName.user_id == User.id)
    return db.scalars(by_name.where(LoginName.key == text.lower())).first()


def listing(db: Session) -> Sequence[User]:
    """All users, oldest first."""
    return db.scalars(select(User).order_by(User.created_at, User.id)).all()


def end_everything(db: Session, user_id: uuid.UUID, **changes: Any) -> None:
    """Raise the epoch: every token and session of the user is dead at once, everywhere.

    ``changes`` are further columns set by the same UPDATE.
    """
    db.execute(
        update(User)
        .where(User.id == user_id)
        .values(epoch=User.epoch + 1, **changes)
        .execution_options(synchronize_session="fetch")
    )


def disable(db: Session, now: datetime, source: Source, user: User) -> None:
    """Refuse the user from now on, and end everything that was issued."""
    end_everything(db, user.id, disabled_at=now, updated_at=now)
    record(db, now, source, "user.disabled", user_id=user.id)


def enable(db: Session, now: datetime, source: Source, user: User) -> None:
    """Let a disabled user log in again."""
    user.disabled_at = None
    user.updated_at = now
    record(db, now, source, "user.enabled", user_id=user.id)


def confirm(db: Session, now: datetime, source: Source, user: User) -> None:
    """Take the user's e-mail address as proved."""
    user.email_verified_at = user.email_verified_at or now
    user.updated_at = now
    record(db, now, source, "user.confirmed", user_id=user.id)


def set_password(
    db: Session, now: datetime, source: Source, user_id: uuid.UUID, password_hash: str
) -> None:
    """A new password; everything that was issued under the old one ends."""
    end_everything(db, user_id, password_hash=password_hash, updated_at=now)
    record(db, now, source, "user.password_changed", user_id=user_id)


def sign_out(db: Session, now: datetime, source: Source, user: User) -> None:
    """End all tokens and sessions of the user; the password stays."""
    end_everything(db, user.id)
    record(db, now, source, "user.signed_out", user_id=user.id)


def by_email(db: Session, key: str) -> User | None:
    """The enabled user whose address has this login key."""
    return db.scalars(
        select(User)
        .join(LoginName, LoginName.user_id == User.id)
        .where(LoginName.key == key, LoginName.kind == "email", User.disabled_at.is_(None))
    ).first()
