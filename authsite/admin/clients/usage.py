"""When a client was last used, and by how many sign-ins."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, case, func, select

from authsite.context import Context
from authsite.oauth.models import Client, Family
from authsite.platform.runtime import clock

COUNTED_TO = 1000


class Usage(NamedTuple):
    """``families``: the active ones among the newest `COUNTED_TO`; ``more``: there are others.

    ``last_used``: when one of these got or used a token, to the hour; None if there are none.
    """

    families: int
    more: bool
    last_used: datetime | None


def usage_of(ctx: Context, client: Client) -> Usage:
    """The use of a client, from its newest families: the index has them in this order."""
    newest = (
        select(
            Family.rotated_at,
            Family.used_at,
            case((_is_active(client), 1), else_=0).label("active"),
        )
        .where(Family.client_id == client.id)
        .order_by(Family.created_at.desc())
        .limit(COUNTED_TO + 1)
        .subquery()
    )
    columns = newest.c
    query = select(
        func.count(),
        func.coalesce(func.sum(columns.active), 0),
        func.max(columns.rotated_at),
        func.max(columns.used_at),
    )
    number, active, rotated, used = ctx.db.execute(query.select_from(newest)).one()
    moments = [each for each in (rotated, used) if each]
    return Usage(int(active), number > COUNTED_TO, max(moments, default=None))


def _is_active(client: Client) -> ColumnElement[bool]:
    return (
        Family.revoked_at.is_(None)
        & (Family.refresh_expires_at > clock.now())
        & (Family.client_epoch == client.epoch)
    )
