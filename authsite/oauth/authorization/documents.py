"""Requests of clients that a document describes: the ``client_id`` is its URL.

Before the user has signed in nothing is fetched, so that no stranger can have this service ask
other hosts; then the client is unknown, too, and the login page names none. And nothing is fetched
from a host that the user has never allowed before the user has pressed a button of ours: a page
that sends its visitors here would learn which of them are signed in.
"""

from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

from sqlalchemy import bindparam, select

from authsite.oauth.authorization_reasons import Reason, Refused
from authsite.oauth.client_documents import service
from authsite.oauth.client_documents.service import DocumentRefused, Problem
from authsite.oauth.client_documents.service import is_current as is_current
from authsite.oauth.clients import document_urls, unused
from authsite.oauth.clients.registered import RegisteredClient
from authsite.oauth.consents.service import Consent
from authsite.oauth.models import Client
from authsite.platform.context import Context
from authsite.platform.db import PreparedQuery

from .request import CREATE, NONE, Parameters


class AllowedDocument(NamedTuple):
    """The URL of a client that the user has allowed."""

    document_uri: str


ALLOWED_DOCUMENTS = PreparedQuery(
    select(Client.document_uri)
    .join(Consent, Consent.client_id == Client.id)
    .where(Consent.user_id == bindparam("user_id"), Client.document_uri.is_not(None)),
    AllowedDocument,
)
MAX_SHOWN = 500  # characters of a URL
REASONS = {
    Problem.UNREACHABLE: Reason.DOCUMENT_UNREACHABLE,
    Problem.INVALID: Reason.DOCUMENT_INVALID,
    Problem.BUSY: Reason.DOCUMENT_BUSY,
}


def url_of(ctx: Context, sent: Parameters) -> str | None:
    """The URL of the document that describes the client; None if its id is none.

    Raises `Refused` for one that cannot be the id of a client here.
    """
    client_id = sent.once("client_id")
    if client_id is None or not document_urls.is_url(client_id):
        return None
    shown = {"sent": client_id[:MAX_SHOWN]}
    if not document_urls.is_on(ctx.settings):
        raise Refused(Reason.CLIENT_UNKNOWN, details=shown)
    try:
        document_urls.check(client_id)
    except ValueError as error:
        raise Refused(Reason.DOCUMENT_URL, details={**shown, "why": str(error)}) from None
    if not document_urls.is_allowed(ctx.settings, client_id):
        why = "client-id-documents does not have its host"
        raise Refused(Reason.CLIENT_UNKNOWN, details={**shown, "why": why})
    return client_id


def require_page(sent: Parameters) -> None:
    """Raise `Refused`, for a page, where no page may be shown to a user who is not signed in."""
    if NONE in sent.words("prompt"):
        raise Refused(Reason.LOGIN_NEEDED)


def wants_registration(ctx: Context, sent: Parameters) -> bool:
    """Whether a user who is not signed in is led to the registration first."""
    return CREATE in sent.words("prompt") and ctx.settings.registration_open


def is_known(ctx: Context, url: str, user_id: UUID) -> bool:
    """Whether the user has allowed a client of the host of ``url``, and not withdrawn that."""
    host = urlsplit(url).netloc
    allowed = ALLOWED_DOCUMENTS.all(ctx.database, user_id=user_id)
    return any(urlsplit(each.document_uri).netloc == host for each in allowed)


def fetch(ctx: Context, url: str, *, only_stored: bool) -> None:
    """Have the client up to date, for a signed-in user. Raises `Refused`.

    Outside of a transaction; see `service.bring_up_to_date`.
    """
    try:
        service.bring_up_to_date(ctx, url, only_stored=only_stored)
    except DocumentRefused as refused:
        details = {"document": url[:MAX_SHOWN], "why": refused.why}
        raise Refused(REASONS[refused.problem], details=details) from None


def note_asked(ctx: Context, client: RegisteredClient) -> None:
    """A signed-in user has come with the client, which is not displaced by others then."""
    if client.unverified:
        unused.note_asked(ctx, client.id)
