"""Clients that act for themselves with scopes of administrators.

An owner gives them these scopes, and sees their secrets. They belong to the installation, not to
that owner, and stay when the owner goes: the pages and the command that take the role away name
them.
"""

import uuid
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from authsite.platform.settings.values import ADMIN_PREFIX, is_admin

from .models import Client

MOST = 1000  # clients that are read


class AdministeringClient(NamedTuple):
    """An enabled client that may do something as an administrator."""

    id: uuid.UUID
    name: str


def administering_clients(db: Session) -> Sequence[AdministeringClient]:
    """The enabled clients that have scopes of administrators, the oldest first."""
    query = (
        select(Client.id, Client.name, Client.scope)
        .where(Client.type == "personal", Client.disabled_at.is_(None))
        .where(Client.scope.contains(ADMIN_PREFIX, autoescape=True))
        .order_by(Client.created_at, Client.id)
    )
    return [
        AdministeringClient(id_, name)
        for id_, name, scope in db.execute(query.limit(MOST))
        if any(map(is_admin, scope.split()))
    ]
