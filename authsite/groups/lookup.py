"""Find a group that is not reserved."""

import re
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from authsite.users.groups.labels import Group, is_reserved

from .errors import ReservedName, UnknownGroup

_NAME = re.compile(r"[a-z0-9:_-]{1,32}")


def is_name(text: str) -> bool:
    """Whether a group can have this name."""
    return bool(_NAME.fullmatch(text))


def find(db: Session, name: str, *, alone: bool = False) -> Group:
    """The group of this name, which stays until the transaction ends.

    With ``alone`` no other transaction changes it or its members either, or gives its scopes to a
    token. Raises `UnknownGroup`, and `ReservedName` for a reserved group.
    """
    # FOR UPDATE, else FOR KEY SHARE, which excludes only the former.
    query = select(Group).with_for_update(read=not alone, key_share=not alone)
    return _one(db, name, query.execution_options(populate_existing=True))


def read(db: Session, name: str) -> Group:
    """`find` without a lock: who is to change the group later must not hold a weaker one before."""
    return _one(db, name, select(Group))


def _one(db: Session, name: str, query: Select[Any]) -> Group:
    if is_reserved(name):
        raise ReservedName(name)
    known = is_name(name)  # PostgreSQL has no text with NUL
    group: Group | None = db.scalar(query.where(Group.name == name)) if known else None
    if group is None:
        raise UnknownGroup(name)
    return group
