"""When a client was last used, and by how many sign-ins, as far as the newest events tell.

No index finds the token families of a client: each login would have to write it.
"""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import case, func, select

from authsite.oauth.models import Client
from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent
from authsite.platform.context import Context

LOOKED_AT = 20_000  # events


class Usage(NamedTuple):
    """What the newest `LOOKED_AT` events have of a client.

    ``families``: how many sign-ins began; ``more``: there are older events. ``last_used``: the time
    of the newest sign-in; None if there is none.
    """

    families: int
    more: bool
    last_used: datetime | None


def usage_of(ctx: Context, client: Client) -> Usage:
    """The use of a client."""
    newest = (
        select(AuditEvent.at, AuditEvent.event, AuditEvent.client_id)
        .order_by(AuditEvent.id.desc())
        .limit(LOOKED_AT)
        .subquery()
    )
    columns = newest.c
    is_ours = columns.client_id == client.id
    began = is_ours & (columns.event == str(Event.TOKEN_ISSUED))
    number, families, last = ctx.db.execute(
        select(
            func.count(),
            func.coalesce(func.sum(case((began, 1), else_=0)), 0),
            func.max(case((began, columns.at))),
        ).select_from(newest)
    ).one()
    return Usage(int(families), number >= LOOKED_AT, last)
