"""Make a client of a document, and keep it as the document says."""

import uuid
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from authsite.oauth import client_uris, client_urls, redirect_uris, self_described
from authsite.oauth.clients import MAX_NAME
from authsite.oauth.models import DOCUMENT, REDIRECT, Client
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import record
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery
from authsite.platform.db.prepared import columns_of
from authsite.platform.runtime import clock

from .document import ClientDocument, parse
from .fetching import fetch
from .problems import DocumentRefused, Problem

ADDRESS = "document-address"  # a limit


class StoredDocument(NamedTuple):
    """The client of a document that was fetched before."""

    id: UUID
    disabled_at: datetime | None
    document_expires_at: datetime | None


STORED_DOCUMENT = PreparedQuery(
    select(*columns_of(Client, StoredDocument)).where(Client.document_uri == bindparam("url")),
    StoredDocument,
)


def is_current(ctx: Context, url: str) -> bool:
    """Whether what was fetched before still counts, or the client is disabled: then it is kept."""
    stored, now = STORED_DOCUMENT.one(ctx.database, url=url), clock.now()
    if stored is None:
        return False
    expires = stored.document_expires_at
    return stored.disabled_at is not None or (expires is not None and expires > now)


def bring_up_to_date(ctx: Context, url: str, *, only_stored: bool = False) -> None:
    """Fetch the document at ``url`` unless what was fetched before still counts, and store it.

    For a signed-in user alone, with a URL that `client_urls.usable` accepts. It has a separate
    transaction, which is committed on return; call it outside of another one. The document of a
    client that was disabled here is not fetched. Raises `DocumentRefused` and `TooManyAttempts`.
    Then nothing has changed: earlier tokens go on. ``only_stored``: nothing is fetched, and a
    document that would have to be is refused as `Problem.BUSY`.
    """
    if is_current(ctx, url):
        return
    if only_stored:
        raise DocumentRefused(Problem.BUSY, "the request is no navigation of a browser")
    ctx.limits.count(ADDRESS, ctx.limits.address)
    fetched = fetch(ctx.services, url)
    document = parse(url, fetched.body, redirect_uris.allowed_by(ctx.settings))
    if self_described.is_site(ctx.settings, document.name):
        document = document._replace(name=client_urls.host_of(url)[:MAX_NAME])
    _store(ctx, url, document, clock.now() + fetched.lifetime)


def _store(ctx: Context, url: str, document: ClientDocument, expires: datetime) -> None:
    """A row for each URL, whatever other requests do at the same time."""
    if _update(ctx, url, document, expires):
        return
    try:
        _insert(ctx, url, document, expires)
    except IntegrityError:  # another request has inserted it at this moment
        _update(ctx, url, document, expires)


def _insert(ctx: Context, url: str, document: ClientDocument, expires: datetime) -> None:
    now = clock.now()
    with Session(ctx.database.transactional) as db, db.begin():
        own = Context(ctx.services, lambda: ctx.request_info, lambda: db)
        client = Client(
            id=uuid.uuid4(),
            type=DOCUMENT,
            secret_hash="",
            default_scope="",
            epoch=0,
            created_at=now,
            document_uri=url,
        )
        _fill(own, client, document, expires)
        db.add(client)
        _set_uris(own, client, document)
        details = {
            "name": client.name,
            "redirect_uris": " ".join(document.redirect_uris),
            "document": url,
        }
        record(own, Event.CLIENT_REGISTERED, client_id=client.id, details=details)


def _update(ctx: Context, url: str, document: ClientDocument, expires: datetime) -> bool:
    """Whether there is such a client; the rows of its URIs change only if the document has."""
    with Session(ctx.database.transactional) as db, db.begin():
        own = Context(ctx.services, lambda: ctx.request_info, lambda: db)
        locked = select(Client).where(Client.document_uri == url).with_for_update(key_share=True)
        client = db.scalars(locked).one_or_none()
        if client is None:
            return False
        _fill(own, client, document, expires)
        present = client_uris.of(db, [client.id]).get((client.id, REDIRECT), [])
        if tuple(present) != document.redirect_uris:
            _set_uris(own, client, document)
        return True


def _fill(ctx: Context, client: Client, document: ClientDocument, expires: datetime) -> None:
    client.name = document.name
    client.scope = self_described.scope_of(ctx.settings, document.scope)
    client.client_uri = document.client_uri
    client.policy_uri, client.tos_uri = document.policy_uri, document.tos_uri
    client.document_expires_at, client.updated_at = expires, clock.now()


def _set_uris(ctx: Context, client: Client, document: ClientDocument) -> None:
    allowed = redirect_uris.allowed_by(ctx.settings)
    client_uris.replace(ctx.db, client, REDIRECT, document.redirect_uris, allowed)
