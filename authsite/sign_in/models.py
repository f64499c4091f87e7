"""Pending logins: what was proved so far, while a further proof is missing."""

import uuid
from datetime import datetime

from sqlalchemy import ForeignKey, String, false
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base


class PendingLogin(Base):
    """A login that needs another proof. It opens nothing. Of its key only a hash is stored.

    It ends with ``expires_at``, with too many ``failures``, and as soon as the epoch of its user or
    client is not the one stored here. ``user_id`` is NULL where the name belongs to no user;
    ``client_id`` is NULL for a browser session. ``amr``: what was proved, separated by blanks.
    ``enroll``: the user must add a second factor. ``recognized``: since when the browser has been
    recognized; ``unrecognized``: neither the browser nor the address was. ``identity_id``: the
    identity at a provider with which the sign-in began. ``resource``: the URI of the resource that
    the tokens are for. ``auth_at``: when the first proof was given
    elsewhere, NULL for now. ``factor_version``: that of the user; the login ends when another is.
    ``session_id``: the sign-in that a mailed code was requested for; such a row is not a login.
    ``name_hash``: of the name with which a sign-in by mail began. ``registered``: the browser has
    just registered the account.
    """

    __tablename__ = "pending_logins"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    key_hash: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[uuid.UUID | None] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    user_epoch: Mapped[int | None]
    client_id: Mapped[uuid.UUID | None] = mapped_column(
        ForeignKey("clients.id", ondelete="CASCADE"), index=True
    )
    client_epoch: Mapped[int | None]
    scope: Mapped[str | None] = mapped_column(String(1024))
    remember: Mapped[bool]
    amr: Mapped[str] = mapped_column(String(200))
    enroll: Mapped[bool]
    recognized: Mapped[datetime | None]
    unrecognized: Mapped[bool]
    next: Mapped[str | None] = mapped_column(String(2048))
    identity_id: Mapped[uuid.UUID | None]
    resource: Mapped[str | None] = mapped_column(String(2048))
    auth_at: Mapped[datetime | None]
    factor_version: Mapped[int] = mapped_column(default=0, server_default="0")
    session_id: Mapped[uuid.UUID | None]
    name_hash: Mapped[str | None] = mapped_column(String(16))
    registered: Mapped[bool] = mapped_column(default=False, server_default=false())
    failures: Mapped[int]
    address: Mapped[str | None] = mapped_column(String(45))
    agent: Mapped[str | None] = mapped_column(String(200))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
