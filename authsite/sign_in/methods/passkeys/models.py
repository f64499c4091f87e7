"""The table of passkeys."""

import uuid
from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, String, false
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base


class Passkey(Base):
    """A passkey of a user (Web Authentication Level 3).

    ``credential_id``, ``user_handle``: in base64url; all passkeys of a user have one handle of 32
    random bytes. ``public_key``: COSE. ``rp_id``: the site that it belongs to. ``transports``:
    separated by blanks. ``backup_eligible``: it may be synced between devices; ``backed_up``: it
    is. ``uv_initialized``: it has verified its user, when it was registered or beside another
    proof, so that it counts for more than a key that was touched.
    """

    __tablename__ = "passkeys"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    credential_id: Mapped[str] = mapped_column(String(1400), unique=True)
    public_key: Mapped[bytes]
    user_handle: Mapped[str] = mapped_column(String(64))
    rp_id: Mapped[str] = mapped_column(String(253))
    sign_count: Mapped[int] = mapped_column(BigInteger)
    aaguid: Mapped[uuid.UUID]
    transports: Mapped[str] = mapped_column(String(200))
    backup_eligible: Mapped[bool]
    backed_up: Mapped[bool]
    uv_initialized: Mapped[bool] = mapped_column(server_default=false(), default=False)
    name: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
