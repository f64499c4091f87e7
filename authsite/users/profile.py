"""Change the profile of a user."""

import uuid
from collections.abc import Mapping

from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from authsite import clock
from authsite.audit.service import record
from authsite.context import Context

from .errors import IdentifierTaken, SignInEnded
from .models import LoginName, User, unchanged_since
from .service import NormalizedName


def change(
    ctx: Context,
    user_id: uuid.UUID,
    epoch: int | None,
    name: str | None,
    names: Mapping[str, NormalizedName | None],
) -> User:
    """Set the name and the login names (kind -> name) of a user.

    A ``name`` of None stays as it is, an empty one is removed; a login name of None is removed.
    Raises `IdentifierTaken`, and `SignInEnded` unless ``epoch`` is still that of the user, who is
    enabled; with None (an administrator) neither is checked.
    """
    conditions = () if epoch is None else unchanged_since(epoch)
    now = clock.now()
    user = ctx.db.scalar(select(User).where(User.id == user_id, *conditions).with_for_update())
    if user is None:
        raise SignInEnded
    changed = [
        kind for kind, new in names.items() if getattr(user, kind) != (new.display if new else None)
    ]
    for kind in changed:
        _set_login_name(ctx.db, user, kind, names[kind])
    if name is not None and user.name != (name or None):
        user.name = name or None
        changed.append("name")
    user.updated_at = now
    details = {"changed": " ".join(sorted(changed))}
    record(ctx, "user.changed", user_id=user_id, details=details)
    return user


def _set_login_name(db: Session, user: User, kind: str, identifier: NormalizedName | None) -> None:
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
