"""The table of signing keys."""

from datetime import datetime

from sqlalchemy import String, Text
from sqlalchemy.orm import Mapped, mapped_column

from authsite.platform.db.base import Base
from authsite.platform.db.sealed import SealedText


class SigningKey(Base):
    """A key pair that signs ID tokens.

    ``kid``: the thumbprint of RFC 7638. ``alg``: RS256 or ES256. ``public``: the JWK (RFC 7517).
    ``private``: the sealed private JWK; NULL once the key signs no more. A key is published as the
    next one from ``created_at`` on, signs from ``current_at`` to ``previous_at``, and is kept after
    that for tokens that it has signed.
    """

    __tablename__ = "signing_keys"

    kid: Mapped[str] = mapped_column(String(43), primary_key=True)
    alg: Mapped[str] = mapped_column(String(8))
    public: Mapped[str] = mapped_column(Text)
    private: Mapped[str | None] = mapped_column(SealedText("signing-key"))
    created_at: Mapped[datetime]
    current_at: Mapped[datetime | None]
    previous_at: Mapped[datetime | None]
