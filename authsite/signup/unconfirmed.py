"""The end of accounts that someone registered and no one has ever used or confirmed.

Such an account holds an address, and what a stranger wrote beside it: a name, a username, a phone
number.
"""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import Connection, exists

from authsite.platform.context import Services
from authsite.platform.db.batches import Batch
from authsite.users.erasure import erase_where
from authsite.users.groups.models import GroupMember
from authsite.users.models import User


def purge(services: Services, connection: Connection, now: datetime) -> Iterator[Batch]:
    """Erase what `purge-unconfirmed` says: registered before that time, neither confirmed nor used.

    Users in a group stay, and all whom an administrator, an import, an invitation or a provider has
    brought.
    """
    span = services.settings.purge_unconfirmed
    if span is None:
        return iter(())
    which = [
        User.created_at <= now - span,
        User.email_verified_at.is_(None),
        User.origin == "registered",
        User.last_sign_in_at.is_(None),
        ~exists().where(GroupMember.user_id == User.id),
    ]
    # No application has got the username of an account that no one has signed in to.
    return erase_where(
        services, connection, which, User.created_at, why="unconfirmed", keep_username=False
    )
