"""The clients that sign a person in at ``/oauth/authorize``, as plain values."""

from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, literal_column, select

from authsite.oauth.models import CODE_TYPES, DOCUMENT, UNVERIFIED_TYPES, Client, ClientUri
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.db.prepared import columns_of
from authsite.platform.runtime.ids import as_client_id

from . import document_urls


class RegisteredClient(NamedTuple):
    """An enabled client of one of the types in `CODE_TYPES`; the columns of `Client`."""

    id: UUID
    name: str
    type: str
    scope: str
    default_scope: str
    epoch: int
    first_party: bool
    no_consent: bool
    pkce_optional: bool
    id_token_alg: str | None
    id_token_lifetime: int | None
    claims_in_id_token: bool
    require_confirmed: bool
    require_group: str | None
    default_resource: str | None
    logo: str | None
    policy_uri: str | None
    tos_uri: str | None
    document_uri: str | None

    @property
    def client_id(self) -> str:
        """The id that the client sends: the URL of its document, if one describes it."""
        return self.document_uri or str(self.id)

    @property
    def unverified(self) -> bool:
        """Whether no administrator has registered it, so that nothing of it is confirmed."""
        return self.type in UNVERIFIED_TYPES


class RegisteredUri(NamedTuple):
    """A URI of a client."""

    uri: str


_BY_ID = [each for each in CODE_TYPES if each != DOCUMENT]
REGISTERED_CLIENT = PreparedQuery(
    select(*columns_of(Client, RegisteredClient)).where(
        Client.id == bindparam("client_id"),
        Client.disabled_at.is_(None),
        Client.type.in_([literal_column(f"'{each}'") for each in _BY_ID]),
    ),
    RegisteredClient,
)
DOCUMENT_CLIENT = PreparedQuery(
    select(*columns_of(Client, RegisteredClient)).where(
        Client.document_uri == bindparam("url"), Client.disabled_at.is_(None)
    ),
    RegisteredClient,
)
URIS = PreparedQuery(
    select(ClientUri.uri)
    .where(ClientUri.client_id == bindparam("client_id"), ClientUri.kind == bindparam("kind"))
    .order_by(ClientUri.position),
    RegisteredUri,
)


def find(ctx: Context, client_id: str) -> RegisteredClient | None:
    """The enabled client with this id, read outside of the request's transaction.

    A URL is the id of a client whose document was fetched before; this fetches none.
    """
    if document_urls.is_url(client_id):
        is_usable = document_urls.usable(ctx.settings, client_id)
        return DOCUMENT_CLIENT.one(ctx.database, url=client_id) if is_usable else None
    found = as_client_id(client_id)
    return REGISTERED_CLIENT.one(ctx.database, client_id=found) if found else None


def uris_of(ctx: Context, client_id: UUID, kind: str) -> list[str]:
    """The URIs of this ``kind`` that are registered for a client, in their order."""
    return [row.uri for row in URIS.all(ctx.database, client_id=client_id, kind=kind)]
