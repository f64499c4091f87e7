"""The end of a browser session: the one home of what it means for the tokens of applications.

A family that came from a code ends with its session, unless it has the scope ``offline_access``;
where the session was ended by someone who disowns what was done in it, that ends, too. Only an end
that a person brings about counts: a session that is idle, or was deleted by the cleanup, ends
nothing. What ends all sign-ins of a user raises the epoch, which ends the families by itself.
"""

from uuid import UUID

from sqlalchemy import ColumnElement, String, delete, literal, update

from authsite.oauth.models import Family
from authsite.oauth.scopes import OFFLINE_ACCESS
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import About, record_all
from authsite.platform.context import Context
from authsite.platform.runtime import clock

from .models import AuthorizationCode

WHY = "its session was ended"
UNLINKED = "its provider was disconnected"  # the column has 32 characters


def end_families(ctx: Context, user_id: UUID, session_id: UUID, *, disowned: bool) -> None:
    """End the families of a session whose row the transaction has deleted; recorded.

    A code that is being redeemed locks the row of the session, so its family is among these or is
    not inserted (`oauth.issue`).
    """
    which = [Family.session_id == session_id]
    if not disowned:
        which.append(_is_bound())
    _end(ctx, user_id, WHY, *which)


def end_of_client(ctx: Context, user_id: UUID, session_id: UUID, client_id: UUID) -> None:
    """End what the end of this session would end of one client; the session goes on."""
    _delete_codes(
        ctx,
        user_id,
        AuthorizationCode.session_id == session_id,
        AuthorizationCode.client_id == client_id,
    )
    _end(
        ctx,
        user_id,
        WHY,
        Family.session_id == session_id,
        Family.user_id == user_id,
        Family.client_id == client_id,
        _is_bound(),
    )


def end_begun_with(ctx: Context, user_id: UUID, identity_id: UUID) -> None:
    """End what came from a session that began with this identity, which may be long gone."""
    _delete_codes(ctx, user_id, AuthorizationCode.identity_id == identity_id)
    of_user = Family.user_id == user_id, Family.identity_id == identity_id
    _end(ctx, user_id, UNLINKED, *of_user)


def _delete_codes(ctx: Context, user_id: UUID, *which: ColumnElement[bool]) -> None:
    """Delete codes that are not redeemed yet; before the families, which some are becoming."""
    ctx.db.execute(
        delete(AuthorizationCode)
        .where(*which, AuthorizationCode.user_id == user_id, AuthorizationCode.used_at.is_(None))
        .execution_options(synchronize_session=False)
    )


def _is_bound() -> ColumnElement[bool]:
    """Whether a family ends with its session."""
    blank = literal(" ", String)
    words = blank + Family.granted_scope + blank
    return ~words.contains(f" {OFFLINE_ACCESS} ", autoescape=True)


def _end(ctx: Context, user_id: UUID, why: str, *which: ColumnElement[bool]) -> None:
    found = ctx.db.execute(
        update(Family)
        .where(*which, Family.revoked_at.is_(None))
        .values(revoked_at=clock.now(), revoked_why=why)
        .returning(Family.id, Family.client_id)
        .execution_options(synchronize_session=False)
    ).all()
    abouts: list[About] = [
        {
            "user_id": user_id,
            "client_id": row.client_id,
            "details": {"family": str(row.id), "why": why},
        }
        for row in found
    ]
    if abouts:
        record_all(ctx, Event.TOKEN_REVOKED, abouts)
