"""Write the URIs of clients, and the resources, of another authsite."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import cast
from uuid import UUID

from sqlalchemy import Table, select

from authsite.oauth import client_uris, resources
from authsite.oauth.models import RESOURCE_SERVER, Client, ClientUri, Resource
from authsite.oauth.redirect_uris import allowed_by
from authsite.platform.context import Context
from authsite.platform.runtime.ids import as_client_id

from . import clients
from .before import Before, take_each
from .own import SYSTEM
from .report import Outcome, Result
from .row_values import ClientUriDraft, Fault, ResourceDraft, require_storable
from .rows import Row

_RESOURCES = cast(Table, Resource.__table__)


def write_uris(
    ctx: Context,
    before: Before,
    read: Callable[[Mapping[str, object]], ClientUriDraft],
    rows: Sequence[Row],
) -> list[Outcome]:
    """Write the URIs of ``rows`` in the transaction of ``ctx``; what became of every row."""

    def take(draft: ClientUriDraft) -> Result:
        client_id, type_ = _own_client(ctx, before, draft.client_id)
        if draft.kind not in client_uris.KINDS.values():
            raise Fault("kind", f"is none of {', '.join(client_uris.KINDS.values())}")
        try:
            client_uris.check(draft.kind, draft.uri, type_, allowed_by(ctx.settings))
        except ValueError as error:
            raise Fault("uri", str(error)) from None
        known = select(ClientUri.id).where(
            ClientUri.client_id == client_id,
            ClientUri.kind == draft.kind,
            ClientUri.uri == draft.uri,
        )
        if ctx.db.scalar(known):
            return "present"
        if not before.seen:
            values = {"id": uuid.uuid4(), **draft._asdict(), "client_id": client_id}
            clients.add_uris(ctx, SYSTEM, [values])
        return "imported"

    return take_each(before, "client_uris", rows, read, take, column="client_id")


def write_resources(
    ctx: Context,
    before: Before,
    read: Callable[[Mapping[str, object]], ResourceDraft],
    rows: Sequence[Row],
) -> list[Outcome]:
    """Write the resources of ``rows``, as `write_uris`."""

    def take(draft: ResourceDraft) -> Result:
        require_storable(_RESOURCES, {"uri": draft.uri, "scopes": draft.scopes})
        present = resources.find_row(ctx, draft.uri)
        if present:
            if draft.created_at != present.created_at:
                raise Fault("uri", f"another resource has this URI: {draft.uri}")
            return "present"
        client_id, type_ = None, RESOURCE_SERVER
        if draft.client_id:
            client_id, type_ = _own_client(ctx, before, draft.client_id)
        if type_ != RESOURCE_SERVER:
            raise Fault("client_id", f"is of no resource server: {draft.client_id}")
        with ctx.db.begin_nested() as savepoint:
            server = None if before.seen else client_id
            made = resources.add(ctx, draft.uri, draft.scopes, server, draft.tokens)
            made.created_at = draft.created_at or made.created_at
            made.updated_at = draft.updated_at or made.created_at
            if before.seen:
                savepoint.rollback()
        return "imported"

    return take_each(
        before,
        "resources",
        rows,
        read,
        take,
        column="uri",
        id_of=lambda draft: draft.uri,
        key=resources.comparable,
    )


def _own_client(ctx: Context, before: Before, given: str) -> tuple[UUID, str]:
    """The id and the type of a client whose row was taken. Raises `Fault`."""
    client_id = as_client_id(given.lower())
    if client_id is None or not before.has_client(client_id):
        raise Fault(
            "client_id",
            "is of a client that was not imported with this source, or whose row in it does not say"
            f" when the client that is here was created: {given}",
        )
    stored = ctx.db.scalar(select(Client.type).where(Client.id == client_id))
    return client_id, stored or before.clients[client_id]
