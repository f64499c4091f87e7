"""The applications that an administrator has set up for the users, who are not asked.

Such a client (``no_consent``) has no consent, but for what it asked for besides. The user sees it
where the connected applications are, and can end its sign-ins.
"""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import func, select

from authsite.oauth.active import ACTIVE_FAMILIES
from authsite.oauth.models import Client, Family
from authsite.platform.context import Context
from authsite.platform.runtime import clock

from . import service
from .models import Consent

ENDED = "ended by the user"  # the column has 32 characters


class SetUp(NamedTuple):
    """An application that has a sign-in of the user; ``used_at``: the last one, or refresh."""

    client_id: UUID
    name: str
    used_at: datetime


def list_of(ctx: Context, user_id: UUID) -> list[SetUp]:
    """Those that have the user signed in, or a consent of theirs, by name."""
    of_client = Client.no_consent.is_(True), Client.first_party.is_(False)
    signed_in = (
        ACTIVE_FAMILIES.with_only_columns(
            Client.id, Client.name, func.max(Family.rotated_at).label("used_at")
        )
        .where(
            Family.user_id == user_id,
            Family.refresh_expires_at > clock.now(),
            *of_client,
        )
        .group_by(Client.id, Client.name)
    )
    allowed = (
        select(Client.id, Client.name, func.coalesce(Consent.used_at, Consent.updated_at))
        .join(Consent, Consent.client_id == Client.id)
        .where(Consent.user_id == user_id, *of_client)
    )
    by_client = {
        row[0]: SetUp(*row) for row in [*ctx.db.execute(allowed), *ctx.db.execute(signed_in)]
    }
    return sorted(by_client.values(), key=lambda each: (each.name.casefold(), each.client_id))


def end_sign_ins(ctx: Context, user_id: UUID, client_id: UUID) -> None:
    """End the tokens of a client and a user, and what the user has allowed it besides."""
    service.withdraw(ctx, user_id, client_id)
    service.end_tokens(ctx, user_id, [client_id], ENDED)
