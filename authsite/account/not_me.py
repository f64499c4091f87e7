"""The link "This was not me" in the notice of a login from a new device.

It ends the one sign-in that the notice is about, and nothing else: the password is reset by a mail
of its own. It works as long as that sign-in does, at most for `LINK_LIFETIME`. It is not bound to
the user's epoch: an intruder who changes the password in that sign-in keeps it, and must not get
rid of the link.
"""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, literal_column, select

from authsite import clock
from authsite.audit.service import record
from authsite.context import Context
from authsite.crypto.keys import KeyRing
from authsite.crypto.sealed import SealedFormat
from authsite.db import Database, PreparedQuery
from authsite.oauth.active import ACTIVE_FAMILY
from authsite.oauth.models import Family
from authsite.sessions.active import ACTIVE_USER
from authsite.sessions.models import BrowserSession
from authsite.users.models import User
from authsite.verification.errors import InvalidSignature

from . import active_sessions

PURPOSE = "not me"
_FORMAT = SealedFormat("16s")


class SignIn(NamedTuple):
    """An active sign-in of a user."""

    id: UUID
    user_id: UUID
    created_at: datetime
    address: str | None
    agent: str | None


SESSION = PreparedQuery(
    select(
        BrowserSession.id,
        BrowserSession.user_id,
        BrowserSession.created_at,
        BrowserSession.address,
        BrowserSession.agent,
    )
    .join(User, ACTIVE_USER)
    .where(BrowserSession.id == bindparam("sign_in_id")),
    SignIn,
)
FAMILY = PreparedQuery(
    ACTIVE_FAMILY.with_only_columns(
        Family.id, Family.user_id, Family.created_at, Family.address, Family.agent
    ).where(
        Family.kind == literal_column("'oauth'"), Family.owner_kind == literal_column("'user'")
    ),
    SignIn,
)


def find_sign_in(database: Database, id_: UUID | None) -> SignIn | None:
    """The active browser session or token family of a user with this id."""
    session = SESSION.one(database, sign_in_id=id_)
    return session or FAMILY.one(database, family_id=id_)


def make_token(ring: KeyRing, sign_in_id: UUID, expires_at: datetime) -> str:
    """The token of a link that ends the sign-in, until ``expires_at`` (whole seconds)."""
    return _FORMAT.seal(ring, sign_in_id.bytes, expires=int(expires_at.timestamp()))


def find(ctx: Context, token: str) -> SignIn:
    """The active sign-in that ``token`` ends; opening the link changes nothing.

    Raises `InvalidSignature` for a wrong or expired token, and if the sign-in has ended.
    """
    values = _FORMAT.unseal(ctx.services.keys[PURPOSE], token, clock.now())
    found = find_sign_in(ctx.database, UUID(bytes=values[0])) if values else None
    if found is None:
        raise InvalidSignature
    return found


def end(ctx: Context, token: str) -> None:
    """End the sign-in, and a pending change of address, which it may have begun.

    Raises `InvalidSignature` as `find` does.
    """
    found = find(ctx, token)
    if not active_sessions.end(ctx, found.user_id, found.id, current=None):
        raise InvalidSignature  # a concurrent request was faster
    record(ctx, "login.disowned", user_id=found.user_id, details={"sign_in": str(found.id)})
