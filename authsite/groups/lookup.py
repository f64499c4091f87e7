"""Find a group that is not reserved."""

import re

from sqlalchemy import select
from sqlalchemy.orm import Session

from authsite.users.groups.models import Group
from authsite.users.groups.reserved import is_reserved

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
    if is_reserved(name):
        raise ReservedName(name)
    query = select(Group).where(Group.name == name)
    # FOR UPDATE, else FOR KEY SHARE, which excludes only the former.
    locked = query.with_for_update(read=not alone, key_share=not alone)
    known = is_name(name)  # PostgreSQL has no text with NUL
    group = db.scalar(locked.execution_options(populate_existing=True)) if known else None
    if group is None:
        raise UnknownGroup(name)
    return group
