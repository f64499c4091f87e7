"""What the table of invitations has of a user: those to the user's address, and those sent."""

from typing import Any
from uuid import UUID

from sqlalchemy import case, select, update
from sqlalchemy.orm import Session

from authsite.context import Context
from authsite.platform.runtime import clock
from authsite.platform.user_data import UserData
from authsite.users.models import LoginName

from .models import Invitation


def list_of(ctx: Context, user_id: UUID) -> list[dict[str, Any]]:
    """The invitations to an address of the user, the oldest first; not who has invited."""
    keys = select(LoginName.key).where(LoginName.user_id == user_id)
    query = select(Invitation).where(Invitation.key.in_(keys)).order_by(Invitation.created_at)
    return [
        {
            "id": str(row.id),
            "email": row.email,
            "group_name": row.group_name,
            "created_at": clock.rfc3339(row.created_at),
            "expires_at": clock.rfc3339(row.expires_at),
        }
        for row in ctx.db.scalars(query)
    ]


def forget_inviter(db: Session, user_id: UUID) -> None:
    """End the invitations that an erased user has sent, and remove the id from them."""
    now = clock.now()
    ended = case((Invitation.expires_at > now, now), else_=Invitation.expires_at)
    db.execute(
        update(Invitation)
        .where(Invitation.inviter_id == user_id)
        .values(inviter_id=None, expires_at=ended)
        .execution_options(synchronize_session=False)
    )


USER_DATA = (
    UserData("invitations", Invitation, rows=list_of, retained=True),
    UserData(
        "sent_invitations",
        Invitation,
        "id group_name created_at expires_at",
        user="inviter_id",
        erase=forget_inviter,
        retained=True,
    ),
)
