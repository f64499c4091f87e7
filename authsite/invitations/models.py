"""The table of invitations."""

import uuid
from datetime import datetime

from sqlalchemy import Index, String
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base


class Invitation(Base):
    """An address that may register, and the group that its user then is in.

    ``key``: the normalized address. ``inviter_id``: the user who invites, ``client_id`` the client;
    both are NULL for a command. They are not foreign keys: an invitation of a user who has lost the
    right, or is gone, is dead. Raising ``version`` ends the links that were mailed before.
    """

    __tablename__ = "invitations"
    __table_args__ = (Index(None, "created_at", "id"),)  # the order of the list

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(String(254))
    key: Mapped[str] = mapped_column(String(320), index=True)
    group_name: Mapped[str | None] = mapped_column(String(32))
    inviter_id: Mapped[uuid.UUID | None] = mapped_column(index=True)  # read when one is erased
    client_id: Mapped[uuid.UUID | None]
    version: Mapped[int] = mapped_column(default=0, server_default="0")
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
