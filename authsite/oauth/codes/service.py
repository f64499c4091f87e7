"""Store an authorization code (RFC 6749, section 4.1.2)."""

from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID, uuid4

from sqlalchemy import insert

from authsite.context import Context
from authsite.oauth.registered import RegisteredClient
from authsite.oauth.tokens import expiry
from authsite.platform.installation import features
from authsite.platform.runtime import clock

from . import text
from .models import AuthorizationCode


class CheckedAccount(Protocol):
    """A user, with the epoch that was read with the session."""

    @property
    def id(self) -> UUID: ...
    @property
    def epoch(self) -> int: ...


class SignInFacts(NamedTuple):
    """The browser session in which a code is asked for; the columns of `BrowserSession`.

    ``auth_at`` is never None: of a session of before the column it is ``created_at``.
    """

    id: UUID
    facts: str | None
    auth_at: datetime
    recognized: datetime | None


class NewCode(NamedTuple):
    """What a user allows a client.

    ``scope`` and ``audience`` are granted already. ``redirect_uri``: where the code is sent.
    ``code_challenge``: by S256, None without PKCE.
    """

    client: RegisteredClient
    account: CheckedAccount
    session: SignInFacts
    redirect_uri: str
    code_challenge: str | None
    scope: str
    audience: str | None
    nonce: str | None


def store(ctx: Context, new: NewCode) -> str:
    """Insert the code in the transaction of ``ctx``; its text, for the redirect.

    Raises `FeatureNotOpen` for a code with an audience, until the database is upgraded.
    """
    if new.audience is not None:
        features.use(ctx, features.AUDIENCE)
    now, code_id = clock.now(), uuid4()
    expires_at = expiry(now, ctx.settings.code_expires_in)
    ctx.db.execute(
        insert(AuthorizationCode).values(
            id=code_id,
            client_id=new.client.id,
            client_epoch=new.client.epoch,
            user_id=new.account.id,
            user_epoch=new.account.epoch,
            session_id=new.session.id,
            redirect_uri=new.redirect_uri,
            code_challenge=new.code_challenge,
            scope=new.scope,
            audience=new.audience,
            nonce=new.nonce,
            facts=new.session.facts,
            auth_at=new.session.auth_at,
            recognized=new.session.recognized,
            created_at=now,
            expires_at=expires_at,
        )
    )
    code = text.CodeText(code_id, int(expires_at.timestamp()))
    return text.encode(ctx.services.keys, code)
