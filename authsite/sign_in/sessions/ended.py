"""What other packages do when a browser session is ended."""

from collections.abc import Callable
from uuid import UUID

from authsite.platform.audit.cause import Cause, details_of
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.registrations import Registered

AT_SESSION_END = Registered[Callable[[Context, UUID, UUID], None]](
    "functions for the end of a browser session"
)


def ended(ctx: Context, user_id: UUID, session_id: UUID, cause: Cause | None = None) -> None:
    """Note that the row of this session was deleted because a person has ended it.

    Call it in the transaction that has deleted the row. Not for a session that was idle or old for
    too long.
    """
    details = details_of(cause, session=str(session_id))
    record(ctx, Event.SESSION_ENDED, user_id=user_id, details=details)
    for function in AT_SESSION_END.of(ctx.services).values():
        function(ctx, user_id, session_id)
