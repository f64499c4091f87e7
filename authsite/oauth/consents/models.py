"""The table of consents."""

import uuid
from datetime import datetime

from sqlalchemy import ForeignKey, Text
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base


class Consent(Base):
    """A user has allowed a client these scopes, also after tokens of it have ended.

    ``scope``: separated by blanks; without a maximum, since later requests add to it.
    ``resources``: the URIs of the resources that its page has named, in the same form.
    ``created_at``: when the user allowed something first; ``updated_at``: when more was allowed;
    ``used_at``: the last sign-in at the application.
    """

    __tablename__ = "consents"

    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True
    )
    client_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("clients.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    scope: Mapped[str] = mapped_column(Text)
    resources: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
