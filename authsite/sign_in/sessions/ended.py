"""What other packages do when a browser session is ended."""

from typing import Protocol
from uuid import UUID

from authsite.platform.audit.cause import Cause, details_of
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.registrations import Registered


class AtEnd(Protocol):
    """What `config.at_session_end` registers."""

    def __call__(self, ctx: Context, user_id: UUID, session_id: UUID, *, disowned: bool) -> None:
        """``disowned``: as of `ended`."""


AT_SESSION_END = Registered[AtEnd]("functions for the end of a browser session")


def ended(
    ctx: Context,
    user_id: UUID,
    session_id: UUID,
    cause: Cause | None = None,
    *,
    disowned: bool = False,
) -> None:
    """Note that the row of this session was deleted because a person has ended it.

    ``disowned``: by someone who does not want what was done in it: from another sign-in, or with
    the identity that began it. Then nothing that comes from the session goes on.

    Call it in the transaction that has deleted the row. Not for a session that was idle or old for
    too long.
    """
    details = details_of(cause, session=str(session_id))
    record(ctx, Event.SESSION_ENDED, user_id=user_id, details=details)
    for function in AT_SESSION_END.of(ctx.services).values():
        function(ctx, user_id, session_id, disowned=disowned)
