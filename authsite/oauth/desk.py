"""What a token request is worked on with: plain values, no HTTP."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from authsite.db import Database
from authsite.http.source import Source
from authsite.login.check import LoginStep
from authsite.settings import Settings
from authsite.throttle.attempts import Attempts
from authsite.users.passwords import Passwords

from .tokens import TokenCodec


@dataclass(frozen=True, slots=True)
class Desk:
    """What a grant works with during one request."""

    db: Session
    database: Database
    cfg: Settings
    codec: TokenCodec
    passwords: Passwords
    login_steps: list[LoginStep]
    source: Source
    attempts: Attempts
    now: datetime


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """The parameters of a token request that grants read (RFC 6749, section 4)."""

    scope: str | None = None
    username: str | None = None
    password: str | None = None
    refresh_token: str | None = None
    # Which identifiers `username` may be; all enabled ones by default.
    kinds: tuple[str, ...] | None = None
