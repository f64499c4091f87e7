"""The deletion of a user: seven days as a disabled one, who can be enabled, then erased."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection

from authsite.admin import reasons
from authsite.admin.administrator import Administrator
from authsite.admin.errors import Outranked
from authsite.admin.rank import require_rank
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context, Services
from authsite.platform.db.batches import Batch
from authsite.platform.http.bodies import require_valid
from authsite.platform.http.errors import FieldError
from authsite.platform.i18n import _
from authsite.platform.runtime import clock
from authsite.sign_in.identifiers import normalized_key
from authsite.users import service as users
from authsite.users.erasure import erase, erase_where
from authsite.users.groups import owners
from authsite.users.models import User

from . import mails, subject

WAIT = timedelta(days=7)

_OTHER_ADDRESS = _("This is not the address of the account. Type it to delete the account.")


def delete(
    ctx: Context,
    by: Administrator,
    user: User,
    reason: str | None,
    email: str | None,
    *,
    now: bool = False,
) -> datetime | None:
    """Disable the user, who is erased in seven days; returns when. None: erased at once (``now``).

    ``email``: the address of the user, typed by a person as a confirmation; a command has its own.
    Enabling the user ends the deletion. ``now`` is for owners. Raises `ValidationFailed`,
    `Outranked`, `UnknownObject` and `LastOwner`.
    """
    require_valid(deletion_errors(ctx, by, user, reason, email, now=now))
    cause = reasons.cause(by, reason)
    owners.require_another(ctx.db, user.id)  # in one order: first all owners, then the user
    found = subject.lock(ctx, by, user)
    require_valid(_address_errors(by, found, email))  # it may have changed before the lock
    if now:
        erase(ctx, found.id, None, why="administrator", cause=cause)
        if by.kind != "command":
            mails.send_erased(ctx, found)
        ctx.db.expunge(found)
        return None
    if found.delete_at is not None:
        return found.delete_at
    moment = clock.now()
    delete_at = moment + WAIT
    users.end_sign_ins(
        ctx,
        found.id,
        end_reset_links=True,
        disabled_at=found.disabled_at or moment,
        delete_at=delete_at,
        updated_at=moment,
    )
    details = cause.details(delete_at=clock.rfc3339(delete_at))
    record(ctx, Event.USER_DELETION_SCHEDULED, user_id=found.id, details=details)
    mails.send(ctx, "account_deletion", found, delete_at)
    return delete_at


def deletion_errors(
    ctx: Context,
    by: Administrator,
    user: User,
    reason: str | None,
    email: str | None,
    *,
    now: bool = False,
) -> Sequence[FieldError]:
    """What `delete` finds wrong with the address and the reason. Raises `Outranked`."""
    require_rank(by, user)
    if now and not subject.is_owner(ctx, by):
        raise Outranked
    return [*_address_errors(by, user, email), *reasons.errors(by, reason, required=True)]


def _address_errors(by: Administrator, user: User, email: str | None) -> Sequence[FieldError]:
    if by.kind == "command":
        return ()
    if not email or normalized_key("email", email) != normalized_key("email", user.email):
        return [FieldError("invalid", "email", _OTHER_ADDRESS)]
    return ()


def erase_due(services: Services, connection: Connection, now: datetime) -> Iterator[Batch]:
    """Erase the users whose time has come, unless an administrator has enabled them again."""
    return erase_where(services, connection, [User.delete_at <= now], User.delete_at, why="due")
