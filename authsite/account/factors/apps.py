"""The applications in which a user has signed in with the password."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from sqlalchemy import or_, select

from authsite.oauth.models import Client, Family
from authsite.platform.context import Context
from authsite.platform.runtime import clock

USED_WITHIN = timedelta(days=90)


def apps_with_password(ctx: Context, user_id: UUID) -> Sequence[str]:
    """The names of the clients of type ``password`` that the user has used within `USED_WITHIN`.

    Their other sign-ins end, and they have to ask for the second factor from then on.
    """
    since = clock.now() - USED_WITHIN
    query = (
        select(Client.name)
        .join(Family, Family.client_id == Client.id)
        .where(
            Family.user_id == user_id,
            Client.type == "password",
            Client.disabled_at.is_(None),
            or_(Family.used_at > since, Family.rotated_at > since),
        )
        .distinct()
        .order_by(Client.name)
    )
    return ctx.db.scalars(query).all()
