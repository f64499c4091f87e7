"""The link "This was not me" in the notice of a login from a new device.

It ends everything that was issued to the user, as "sign out everywhere" does. An intruder who
knows the password may have signed in again without a notice, or created a personal access token.
It also forgets all recognized browsers and addresses, but recognizes the present ones.

The link is bound to the user and a place in the audit trail, not to the sign-in or the epoch:
signing out or changing the password must not end it. It works once, until it expires or the user
resets the password by mail or takes a change of address back. A reset does not end it if the
address was changed between the login and the reset: then the intruder may have got the mail.
"""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import select

from authsite import clock
from authsite.audit.events import EventName
from authsite.audit.models import AuditEvent
from authsite.audit.service import record
from authsite.context import Context
from authsite.crypto.keys import KeyRing
from authsite.crypto.sealed import SealedFormat
from authsite.login.service import remember_caller
from authsite.users import service as users
from authsite.users.models import User
from authsite.verification.errors import InvalidSignature

PURPOSE = "not me"
_FORMAT = SealedFormat("16s16sQ")  # the fields of `Login`

USED: EventName = "login.disowned"
RESET: EventName = "recovery.done"
MOVED: EventName = "email.changed"
REVERTED: EventName = "email.change_reverted"


class Login(NamedTuple):
    """The login that a notice is about; ``event_id``: its event in the audit trail.

    The mail may be sent much later: what an intruder does meanwhile must not end the link.
    """

    user_id: UUID
    sign_in_id: UUID
    event_id: int


def make_token(ring: KeyRing, login: Login, expires_at: datetime) -> str:
    """The token of the link in the notice of ``login``, until ``expires_at`` (whole seconds)."""
    ids = login.user_id.bytes, login.sign_in_id.bytes
    return _FORMAT.seal(ring, *ids, login.event_id, expires=int(expires_at.timestamp()))


def find(ctx: Context, token: str) -> Login:
    """The login that ``token`` is about; opening the link changes nothing.

    Raises `InvalidSignature` for a wrong, expired or used token, after a reset of the password, and
    if the user was deleted or disabled.
    """
    values = _FORMAT.unseal(ctx.services.keys[PURPOSE], token, clock.now())
    if values is None:
        raise InvalidSignature
    user_id, sign_in_id, event_id, _expires = values
    login = Login(UUID(bytes=user_id), UUID(bytes=sign_in_id), event_id)
    user = ctx.db.get(User, login.user_id)
    if user is None or user.disabled_at or _has_ended(ctx, login):
        raise InvalidSignature
    return login


def end(ctx: Context, token: str) -> None:
    """End all sign-ins, tokens and pending changes of the user, and what is recognized.

    Raises `InvalidSignature` as `find` does.
    """
    login = find(ctx, token)
    ended = users.end_sign_ins(
        ctx, login.user_id, User.disabled_at.is_(None), forget_recognized=True
    )
    # The row of the user is locked now: of concurrent requests, one uses the link.
    if ended is None or _has_ended(ctx, login):
        raise InvalidSignature
    record(ctx, USED, user_id=login.user_id, details={"sign_in": str(login.sign_in_id)})
    remember_caller(ctx, login.user_id, ended.recognition_version)


def _has_ended(ctx: Context, login: Login) -> bool:
    """Whether such a link was used since the notice, or the owner got the account back."""
    ends = [USED, REVERTED, RESET]
    for event in ctx.db.scalars(
        select(AuditEvent.event)
        .where(
            AuditEvent.user_id == login.user_id,
            AuditEvent.event.in_([*ends, MOVED]),
            AuditEvent.id > login.event_id,
        )
        .order_by(AuditEvent.id)
    ):
        if event in ends:
            return True
        ends = [USED, REVERTED]  # a later reset may be one of the intruder
    return False
