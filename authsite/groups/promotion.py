"""What ends when a user becomes an administrator, or one who may do more.

Who may act at a user is decided when it is asked for (`authsite.admin.rank`). What takes place
later, such as a change of address with a mailed link, was asked for at a user of a lower rank.
"""

from uuid import UUID

from sqlalchemy import update

from authsite.platform.audit.cause import Cause
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.users import former, pending
from authsite.users.models import User


def end_deferred(ctx: Context, user_id: UUID, cause: Cause) -> None:
    """End what would take place later at the account of a user, whose row is locked.

    The pending change of address, the links that take earlier changes back, the reset links, and a
    deletion that was to come: the user stays disabled then. The user's sign-ins stay.
    """
    if pending.end(ctx.db, user_id):
        record(ctx, Event.EMAIL_CHANGE_CANCELED, user_id=user_id, details=cause.details())
    former.end_all(ctx.db, user_id)
    ctx.db.execute(
        update(User)
        .where(User.id == user_id)
        .values(recovery_version=User.recovery_version + 1, delete_at=None)
        .execution_options(synchronize_session="fetch")
    )
