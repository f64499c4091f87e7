"""The active sessions of a user: token families and browser sessions, in one list (ASVS 7.5).

A personal access token is not a session, but was created in one: a user who ends that session may
revoke it, too. `authsite.oauth.personal` lists and revokes each of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import case

from authsite.oauth import active_personal_tokens, families
from authsite.oauth.active import ACTIVE_FAMILIES
from authsite.oauth.active_personal_tokens import end_created_in
from authsite.oauth.codes import session_end
from authsite.oauth.listed import ListedToken, list_personal
from authsite.oauth.models import Client, Family
from authsite.platform.audit.cause import Cause, details_of
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.runtime import clock
from authsite.sign_in.facts import amr_of
from authsite.sign_in.sessions import service as sessions
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users import pending
from authsite.users import service as users
from authsite.users.levels import proved_at

MAX_LISTED = 100  # a program that logs in repeatedly makes thousands


@dataclass(frozen=True, slots=True)
class ActiveSession:
    """One active session; ``kind`` is ``browser`` or ``app``.

    ``amr`` and ``auth_at``: how and when the user proved to be who they are; ``auth_at`` is None if
    that is not known. ``tokens``: the active personal access tokens that were created in it.
    """

    id: UUID
    kind: str
    client: str | None
    address: str | None
    agent: str | None
    created: datetime
    last_used: datetime
    current: bool
    amr: tuple[str, ...]
    auth_at: datetime | None
    tokens: tuple[ListedToken, ...] = ()


def list_active(
    ctx: Context, user_id: UUID, current: UUID | None
) -> tuple[list[ActiveSession], bool]:
    """The active sessions of a user: ``current`` first, then by last use.

    At most `MAX_LISTED`, and whether there are others.
    """
    last_used = case((Family.used_at > Family.rotated_at, Family.used_at), else_=Family.rotated_at)
    families_used = ctx.db.execute(
        ACTIVE_FAMILIES.with_only_columns(Family, Client.name, last_used)
        .where(
            Family.user_id == user_id,
            Family.refresh_expires_at > clock.now(),
        )
        .order_by(Family.id != current, last_used.desc())
        .limit(MAX_LISTED + 1)
    )
    found = [_active(row, "app", client, used, current) for row, client, used in families_used]
    rows = sessions.list_active(ctx, user_id, current, MAX_LISTED + 1)
    found += [_active(row, "browser", None, row.used_at, current) for row in rows]
    found.sort(key=lambda item: (not item.current, -item.last_used.timestamp()))
    tokens = list_personal(ctx, user_id)
    listed = [
        replace(item, tokens=tuple(each for each in tokens if each.session_id == item.id))
        for item in found[:MAX_LISTED]
    ]
    return listed, len(found) > MAX_LISTED


def _active(
    row: Family | BrowserSession,
    kind: str,
    client: str | None,
    last_used: datetime,
    current: UUID | None,
) -> ActiveSession:
    amr = amr_of(row.facts)
    return ActiveSession(
        id=row.id,
        kind=kind,
        client=client,
        address=row.address,
        agent=row.agent,
        created=row.created_at,
        last_used=last_used,
        current=row.id == current,
        amr=amr,
        auth_at=proved_at(amr, row.auth_at or row.created_at),
    )


def end(
    ctx: Context,
    user_id: UUID,
    session_id: UUID,
    current: UUID | None,
    *,
    revoke_tokens: bool = True,
    cause: Cause | None = None,
) -> bool:
    """End one session of this user; whether there was one (IDOR: another user's is not found).

    With ``revoke_tokens`` the personal access tokens that were created in it end, too. Another
    session than ``current`` may be that of an intruder. So all tokens that applications got in it
    end, `offline_access` or not, and a pending change of address.
    """
    # Before the row of the session, as all that locks both does. What creates a personal access
    # token locks the user, too, so that none is created in a session that is ending.
    users.lock(ctx.db, user_id)
    disowned = session_id != current
    ended = sessions.end(ctx, user_id, session_id, cause, disowned=disowned) or _end_family(
        ctx, user_id, session_id, cause
    )
    if ended and revoke_tokens:
        end_created_in(ctx, user_id, session_id, cause)
    if ended and disowned:
        pending.end(ctx.db, user_id)
    return ended


def end_begun_with(
    ctx: Context, user_id: UUID, identity_id: UUID, current: UUID | None
) -> Sequence[UUID]:
    """End everything that began with this identity of the user, the present session as well.

    The tokens of applications and the personal access tokens of sessions that are over, too.
    Returns the ids of the browser sessions. Call it in the transaction that has locked the user.
    """
    # First the codes: one that is being redeemed is locked before its session.
    session_end.end_begun_with(ctx, user_id, identity_id)
    began = sessions.begun_with(ctx, user_id, identity_id)
    for session_id in began:
        if sessions.end(ctx, user_id, session_id, disowned=True):
            end_created_in(ctx, user_id, session_id)
    active_personal_tokens.end_begun_with(ctx, user_id, identity_id)
    if set(began) - {current}:
        pending.end(ctx.db, user_id)
    return began


def _end_family(ctx: Context, user_id: UUID, family_id: UUID, cause: Cause | None) -> bool:
    family = ctx.db.get(Family, family_id)
    if family is None or family.user_id != user_id:
        return False
    if not families.revoke(ctx, family_id, "signed out"):
        return False  # it is revoked, or another request was faster
    details = details_of(cause, family=str(family_id), why="signed out")
    record(ctx, Event.TOKEN_REVOKED, user_id=user_id, client_id=family.client_id, details=details)
    return True
