"""The end of a browser session: the one home of what it means for the tokens of applications.

A family that came from a code ends with its session, unless it has the scope ``offline_access``.
Only an end that a person brings about counts: a session that is idle, or was deleted by the
cleanup, ends nothing. What ends all sign-ins of a user raises the epoch, which ends the families
by itself.
"""

from uuid import UUID

from sqlalchemy import String, literal, update

from authsite.oauth.models import Family
from authsite.oauth.scopes import OFFLINE_ACCESS
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import About, record_all
from authsite.platform.context import Context
from authsite.platform.runtime import clock

WHY = "its session was ended"


def end_families(ctx: Context, user_id: UUID, session_id: UUID) -> None:
    """End the families of a session whose row the transaction has deleted; recorded.

    A code that is being redeemed locks the row of the session, so its family is among these or is
    not inserted (`oauth.issue`).
    """
    blank = literal(" ", String)
    words = blank + Family.granted_scope + blank
    found = ctx.db.execute(
        update(Family)
        .where(
            Family.session_id == session_id,
            Family.revoked_at.is_(None),
            ~words.contains(f" {OFFLINE_ACCESS} ", autoescape=True),
        )
        .values(revoked_at=clock.now(), revoked_why=WHY)
        .returning(Family.id, Family.client_id)
        .execution_options(synchronize_session=False)
    ).all()
    if found:
        record_all(ctx, Event.TOKEN_REVOKED, [_about(user_id, *each) for each in found])


def _about(user_id: UUID, family_id: UUID, client_id: UUID | None) -> About:
    details = {"family": str(family_id), "why": WHY}
    return {"user_id": user_id, "client_id": client_id, "details": details}
