"""Use up an authorization code, once (RFC 6749, section 4.1.2)."""

from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, select, update

from authsite.oauth.models import Client
from authsite.platform.db import PreparedQuery
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User, user_of

from .models import AuthorizationCode


class SpentCode(NamedTuple):
    """A code that is spent by this request."""

    id: UUID


def _spend_query() -> PreparedQuery[SpentCode]:
    """UPDATE of the code, unless it is spent: of concurrent requests, one succeeds."""
    columns = AuthorizationCode.__table__.c
    unchanged = (
        select(User.id)
        .join(Client.__table__, Client.id == AuthorizationCode.client_id)
        .join(BrowserSession.__table__, BrowserSession.id == AuthorizationCode.session_id)
        .where(
            user_of(AuthorizationCode),
            Client.epoch == AuthorizationCode.client_epoch,
            Client.disabled_at.is_(None),
        )
        .correlate(AuthorizationCode)
    )
    statement = (
        update(AuthorizationCode)
        .where(
            AuthorizationCode.id == bindparam("code_id", type_=columns.id.type),
            AuthorizationCode.used_at.is_(None),
            unchanged.exists(),
        )
        .values(used_at=bindparam("now", type_=columns.used_at.type))
        .returning(AuthorizationCode.id)
    )
    return PreparedQuery(statement, SpentCode)


SPEND_CODE = _spend_query()
