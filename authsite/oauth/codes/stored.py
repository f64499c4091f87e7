"""An authorization code as its row, read together with the client that sends it.

The token endpoint authenticates the client first. For a code one query reads both: the rows are
looked at in that order, and a request has one round trip to the database less.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import and_, bindparam, select

from authsite.oauth.client_auth import AuthenticatedClient, is_public
from authsite.oauth.models import Client
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.db.prepared import columns_of
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User, user_of

from .models import AuthorizationCode
from .terms import TERMS_COLUMNS, Terms
from .text import CODE

_NO_CODE = UUID(int=0)


class StoredCode(NamedTuple):
    """A row of `AuthorizationCode`; ``session_ends_at`` is None if its session is not there.

    ``terms``: those of the client that sends the code. Compare ``client_id`` first.
    """

    id: UUID
    client_id: UUID
    client_epoch: int
    session_id: UUID
    redirect_uri: str
    code_challenge: str | None
    scope: str
    audience: str | None
    nonce: str | None
    facts: str | None
    auth_at: datetime
    recognized: datetime | None
    identity_id: UUID | None
    ends_at: datetime | None
    expires_at: datetime
    used_at: datetime | None
    session_ends_at: datetime | None
    terms: Terms


class _SecretHashes(NamedTuple):
    secret_hash: str
    previous_secret_hash: str | None


class ClientWithCode(NamedTuple):
    """An enabled client whose secret is not checked yet, and the code that it sends.

    The fields are those of `EnabledClient` and `AuthenticatedClient`. ``code``: None if there is no
    such code; it may be another client's.
    """

    secret_hash: str
    previous_secret_hash: str | None
    id: UUID
    name: str
    type: str
    scope: str
    default_scope: str
    epoch: int
    grant_types: str | None
    require_group: str | None
    default_resource: str | None
    code: StoredCode | None

    @property
    def client(self) -> AuthenticatedClient:
        """The client, once its secret is checked."""
        return AuthenticatedClient._make(self[len(_SecretHashes._fields) : -1])

    @property
    def public(self) -> bool:
        """See `EnabledClient`."""
        return is_public(self.type, self.secret_hash)


CLIENT_WITH_CODE = PreparedQuery(
    select(
        *columns_of(Client, _SecretHashes),
        *columns_of(Client, AuthenticatedClient),
        *(getattr(AuthorizationCode, name) for name in StoredCode._fields[:-2]),
        BrowserSession.expires_at.label("session_ends_at"),
        # Labels, since a column that is selected twice would be left out the second time.
        *(column.label(column.name) for column in TERMS_COLUMNS),
    )
    .select_from(Client)
    .outerjoin(AuthorizationCode, AuthorizationCode.id == bindparam("code_id"))
    .outerjoin(User, user_of(AuthorizationCode))
    .outerjoin(
        BrowserSession,
        and_(
            BrowserSession.id == AuthorizationCode.session_id,
            BrowserSession.user_id == AuthorizationCode.user_id,
        ),
    )
    .where(Client.id == bindparam("client_id"), Client.disabled_at.is_(None)),
    ClientWithCode,
)


def finder(ctx: Context, sent: str) -> Callable[..., ClientWithCode | None]:
    """What `identify` finds the client with, for a request that sends this text of a code.

    For a text that was never a code of this service the query is the same, and finds none.
    """
    values = CODE.decode_expired(ctx.services.keys, sent)
    code_id = values.id if values else _NO_CODE
    return partial(CLIENT_WITH_CODE.one, ctx.database, code_id=code_id)
