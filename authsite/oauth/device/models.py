"""The table of device codes."""

import uuid
from datetime import datetime

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from authsite.oauth.models import MAX_URI
from authsite.platform.db.base import Base


class DeviceCode(Base):
    """A request of a program or device that waits for a person (RFC 8628, section 3.2).

    The text of the device code is its sealed ``id``, which becomes the id of the token family.
    ``user_code``: a keyed digest of the text that the person types. ``scope`` and ``audience`` are
    what the client may have of what it asked for. ``address`` and ``agent``: of the device.
    ``interval``: seconds that it has to wait between two requests; ``poll_after``: a request before
    this moment is too early. ``user_id``, ``decided_at`` and ``approved``: who decided, when, and
    how. With an approval comes a row of `AuthorizationCode` with the same ``id``, which is redeemed
    like any other.
    """

    __tablename__ = "device_codes"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    client_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("clients.id", ondelete="CASCADE"), index=True
    )
    client_epoch: Mapped[int]
    user_code: Mapped[str] = mapped_column(String(64), unique=True)
    scope: Mapped[str] = mapped_column(String(1024))
    audience: Mapped[str | None] = mapped_column(String(MAX_URI))
    address: Mapped[str | None] = mapped_column(String(45))
    agent: Mapped[str | None] = mapped_column(String(200))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    interval: Mapped[int]
    poll_after: Mapped[datetime | None]
    user_id: Mapped[uuid.UUID | None] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    decided_at: Mapped[datetime | None]
    approved: Mapped[bool | None]
