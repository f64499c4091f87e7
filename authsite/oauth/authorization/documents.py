"""Requests of clients that a document describes: the ``client_id`` is its URL.

Before the user has signed in nothing is fetched, so that no stranger can have this service ask
other hosts; then the client is unknown, too, and the login page names none.
"""

from authsite.oauth import client_urls, unused_clients
from authsite.oauth.authorization_reasons import Reason, Refused
from authsite.oauth.client_documents import service
from authsite.oauth.client_documents.problems import DocumentRefused, Problem
from authsite.oauth.registered import RegisteredClient
from authsite.platform.context import Context

from .request import CREATE, NONE, Parameters

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
    if client_id is None or not client_urls.is_url(client_id):
        return None
    shown = {"sent": client_id[:MAX_SHOWN]}
    if not client_urls.is_on(ctx.settings):
        raise Refused(Reason.CLIENT_UNKNOWN, details=shown)
    try:
        client_urls.check(client_id)
    except ValueError as error:
        raise Refused(Reason.DOCUMENT_URL, details={**shown, "why": str(error)}) from None
    if not client_urls.is_allowed(ctx.settings, client_id):
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
        unused_clients.note_asked(ctx, client.id)
