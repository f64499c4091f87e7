"""The table of authenticator apps."""

import uuid
from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base
from authsite.platform.db.sealed import SealedText

SECRET = "totp"  # the kind of sealed value


class TotpFactor(Base):
    """The authenticator app of a user; a user has at most one.

    ``secret``: sealed (`authsite.platform.crypto.sealing`). ``digits``, ``period`` in seconds and
    ``algorithm`` (``SHA1``): as in RFC 6238; imported ones may differ from our own. ``last_step``:
    the newest time step whose code was used: no code of it or of an earlier one is accepted.
    ``failures``: wrong codes since the last right one.
    """

    __tablename__ = "totp_factors"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    user_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), unique=True
    )
    secret: Mapped[str] = mapped_column(SealedText(SECRET))
    digits: Mapped[int]
    period: Mapped[int]
    algorithm: Mapped[str] = mapped_column(String(8))
    last_step: Mapped[int] = mapped_column(BigInteger)
    failures: Mapped[int]
    created_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
