"""Write the URIs of clients, and the resources, of another authsite."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import cast
from uuid import UUID

from sqlalchemy import Table, select

from authsite.oauth import client_uris, resources
from authsite.oauth.models import RESOURCE_SERVER, Client, ClientUri, Resource
from authsite.platform.context import Context
from authsite.platform.runtime.ids import as_client_id

from .before import Before
from .report import PRESENT, Outcome, Result, refused
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

    def take(row: Row) -> Result:
        draft = read(row.values)
        client_id = as_client_id(draft.client_id.lower())
        type_ = _type_of(ctx, before, client_id)
        if client_id is None or type_ is None:
            raise Fault("client_id", f"is of a client that was not imported: {draft.client_id}")
        if draft.kind not in client_uris.KINDS.values():
            raise Fault("kind", f"is none of {', '.join(client_uris.KINDS.values())}")
        try:
            client_uris.check(draft.kind, draft.uri, type_, ctx.settings.private_schemes)
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
            ctx.db.add(
                ClientUri(
                    id=uuid.uuid4(),
                    client_id=client_id,
                    kind=draft.kind,
                    uri=draft.uri,
                    position=draft.position,
                )
            )
            ctx.db.flush()
        return "imported"

    return [_outcome(row, "client_id", take) for row in rows]


def write_resources(
    ctx: Context,
    before: Before,
    read: Callable[[Mapping[str, object]], ResourceDraft],
    rows: Sequence[Row],
) -> list[Outcome]:
    """Write the resources of ``rows``, as `write_uris`."""

    def take(row: Row) -> Result:
        draft = read(row.values)
        require_storable(_RESOURCES, {"uri": draft.uri, "scopes": draft.scopes})
        present = resources.find_row(ctx, draft.uri)
        if present:
            if draft.created_at not in (None, present.created_at):
                raise Fault("uri", f"another resource has this URI: {draft.uri}")
            return "present"
        client_id = as_client_id((draft.client_id or "").lower())
        if draft.client_id and _type_of(ctx, before, client_id) != RESOURCE_SERVER:
            raise Fault("client_id", f"is of no resource server: {draft.client_id}")
        with ctx.db.begin_nested() as savepoint:
            server = None if before.seen else client_id
            made = resources.add(ctx, draft.uri, draft.scopes, server, draft.tokens)
            made.created_at = draft.created_at or made.created_at
            made.updated_at = draft.updated_at or made.created_at
            if before.seen:
                savepoint.rollback()
        return "imported"

    return [_outcome(row, "uri", take) for row in rows]


def _type_of(ctx: Context, before: Before, client_id: UUID | None) -> str | None:
    """The type of a client that is there, or that a dry run would have written."""
    if client_id is None:
        return None
    stored = ctx.db.scalar(select(Client.type).where(Client.id == client_id))
    return stored or before.clients.get(client_id)


def _outcome(row: Row, name: str, take: Callable[[Row], Result]) -> Outcome:
    named = row.values.get(name)
    source_id = named if isinstance(named, str) else None
    try:
        if row.fault:
            raise Fault(None, row.fault)
        result = take(row)
    except Fault as error:
        return refused(row, source_id, error)
    except ValueError as error:
        return refused(row, source_id, Fault(None, str(error)))
    return Outcome(
        row.number, source_id, None, result, None, PRESENT if result == "present" else None
    )
