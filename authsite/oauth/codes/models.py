"""The table of authorization codes."""

import uuid
from datetime import datetime

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from authsite.oauth.models import MAX_URI
from authsite.platform.db.base import Base


class AuthorizationCode(Base):
    """What a user has allowed a client at ``/oauth/authorize``, until the code is redeemed.

    The text of the code is its sealed ``id``, which becomes the id of the token family. ``scope``
    and ``audience`` are granted already. ``session_id``: the browser session, whose row may be
    gone. ``code_challenge``: by S256 (RFC 7636); NULL without PKCE. ``facts``, ``auth_at``,
    ``recognized``, ``identity_id`` and ``ends_at`` are those of the browser session. ``used_at``:
    when it was redeemed.
    """

    __tablename__ = "authorization_codes"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    client_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("clients.id", ondelete="CASCADE"), index=True
    )
    client_epoch: Mapped[int]
    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    user_epoch: Mapped[int]
    session_id: Mapped[uuid.UUID]
    redirect_uri: Mapped[str] = mapped_column(String(MAX_URI))
    code_challenge: Mapped[str | None] = mapped_column(String(43))
    scope: Mapped[str] = mapped_column(String(1024))
    audience: Mapped[str | None] = mapped_column(String(MAX_URI))
    nonce: Mapped[str | None] = mapped_column(String(512))
    facts: Mapped[str | None] = mapped_column(Text)
    auth_at: Mapped[datetime]
    recognized: Mapped[datetime | None]
    identity_id: Mapped[uuid.UUID | None]
    ends_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
