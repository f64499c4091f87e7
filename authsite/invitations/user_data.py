"""What the table of invitations has of a user: those to the user's address, and those sent.

And its lines in an export.
"""

from typing import Any, Literal
from uuid import UUID

from sqlalchemy import case, delete, select, update
from sqlalchemy.orm import Session
from typing_extensions import TypedDict

from authsite.platform.context import Context
from authsite.platform.mail.outbox import OutboxMessage
from authsite.platform.runtime import clock
from authsite.platform.user_data import Id, Line, Moment, UserData, exported_line
from authsite.users.models import LoginName

from .models import Invitation as InvitationRow


@exported_line
class Invitation(TypedDict):
    """An invitation that was not accepted. `authsite import` leaves it out: invite again.

    Its link is of this installation alone. `inviter_id` and `client_id` are null for a command.
    """

    type: Literal["invitation"]
    id: Id
    email: str
    group_name: str | None
    inviter_id: Id | None
    client_id: Id | None
    created_at: Moment
    expires_at: Moment


def list_of(ctx: Context, user_id: UUID) -> list[dict[str, Any]]:
    """The invitations to an address of the user, the oldest first; not who has invited."""
    keys = select(LoginName.key).where(LoginName.user_id == user_id)
    query = (
        select(InvitationRow).where(InvitationRow.key.in_(keys)).order_by(InvitationRow.created_at)
    )
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


def end_those_to(db: Session, key: str) -> None:
    """End the invitations to the address of an erased user, and delete their mails."""
    ended = db.execute(
        delete(InvitationRow)
        .where(InvitationRow.key == key)
        .returning(InvitationRow.id, InvitationRow.created_at)
        .execution_options(synchronize_session=False)
    ).all()
    if ended:
        mailed = (
            OutboxMessage.created_at >= min(row.created_at for row in ended),  # by the index
            OutboxMessage.about_id.in_([row.id for row in ended]),
        )
        db.execute(
            delete(OutboxMessage).where(*mailed), execution_options={"synchronize_session": False}
        )


def forget_inviter(db: Session, user_id: UUID) -> None:
    """End the invitations that an erased user has sent, and remove the id from them."""
    now = clock.now()
    ended = case((InvitationRow.expires_at > now, now), else_=InvitationRow.expires_at)
    db.execute(
        update(InvitationRow)
        .where(InvitationRow.inviter_id == user_id)
        .values(inviter_id=None, expires_at=ended)
        .execution_options(synchronize_session=False)
    )


USER_DATA = (
    UserData(
        "invitations",
        InvitationRow,
        rows=list_of,
        erase_address=end_those_to,
        retained=True,
        line=Line("invitations", Invitation),
    ),
    UserData(
        "sent_invitations",
        InvitationRow,
        "id group_name created_at expires_at",
        user="inviter_id",
        erase=forget_inviter,
        retained=True,
    ),
)
