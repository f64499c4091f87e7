"""What a recovery has left: named to the user, who may find one that another person has added.

After a recovery the page and the mail lead to a page that removes them. It asks what a sign-in to
the account asks, in a sign-in since then: the new password, and a second factor where one is asked
for. So a person who has only had a passkey added loses it, and the reader of a mailbox removes
nothing from an account with a second factor.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent
from authsite.platform.context import Context
from authsite.platform.crypto.keys import KeyRing
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.runtime import clock
from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.users import account
from authsite.users.account import Agent
from authsite.users.models import User

from .policy import PASSKEY, TOTP

PURPOSE = "remaining factors"
LIFETIME = timedelta(days=3)
_FORMAT = SealedFormat("16sq")


class Remaining(NamedTuple):
    """A factor: ``name`` is that of a passkey; ``device``: with what it was added."""

    id: UUID
    kind: str
    name: str | None
    created_at: datetime
    device: Agent


def list_of(db: Session, user_id: UUID) -> Sequence[Remaining]:
    """The factors and passkeys of a user, the oldest first."""
    added = select(AuditEvent.details, AuditEvent.agent).where(
        AuditEvent.user_id == user_id, AuditEvent.event == Event.FACTOR_ADDED
    )
    devices = {details.get("factor"): agent for details, agent in db.execute(added) if details}
    totp = select(TotpFactor.id, TotpFactor.created_at).where(TotpFactor.user_id == user_id)
    passkeys = select(Passkey.id, Passkey.created_at, Passkey.name).where(
        Passkey.user_id == user_id
    )
    rows = [(row.id, TOTP, None, row.created_at) for row in db.execute(totp)]
    rows += [(row.id, PASSKEY, row.name, row.created_at) for row in db.execute(passkeys)]
    rows.sort(key=lambda row: row[3])
    return [Remaining(*row, account.describe(devices.get(str(row[0])))) for row in rows]


def make_token(ring: KeyRing, user_id: UUID, recovery_version: int) -> str:
    """The token of the page that removes what was kept; it ends with another new password."""
    expires = int((clock.now() + LIFETIME).timestamp())
    return _FORMAT.seal(ring, user_id.bytes, recovery_version, expires=expires)


def token_for(ctx: Context, user_id: UUID) -> str | None:
    """`make_token` in the transaction of a recovery; None where nothing was kept."""
    if not list_of(ctx.db, user_id):
        return None
    version = ctx.db.scalar(select(User.recovery_version).where(User.id == user_id))
    return make_token(ctx.services.keys[PURPOSE], user_id, version or 0)


def read_token(ctx: Context, db: Session, token: str) -> UUID | None:
    """The user of a token that still serves."""
    values = _FORMAT.unseal(ctx.services.keys[PURPOSE], token, clock.now())
    if values is None:
        return None
    user = db.get(User, UUID(bytes=values[0]))
    if user is None or user.disabled_at is not None or user.recovery_version != values[1]:
        return None
    return user.id
