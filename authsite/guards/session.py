"""The web guard: a session cookie opens pages; other browsers are redirected to the login page."""

from pyramid.httpexceptions import HTTPException
from pyramid.response import Response

from authsite.platform.db.prepared import Reader
from authsite.platform.db.standbys import Reading
from authsite.platform.http.address import path_qs
from authsite.platform.http.error_views import respond
from authsite.platform.http.methods import SAFE_METHODS
from authsite.platform.http.rendering import found, see_other
from authsite.platform.http.return_to import page_of_form
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.sign_in.facts import unpack
from authsite.sign_in.login_url import login_url
from authsite.sign_in.sessions.active import ActiveBrowserSession, find_active
from authsite.sign_in.sessions.cookies import presented, restore_guard
from authsite.users.caller import Caller
from authsite.users.errors import SignInEnded
from authsite.users.levels import proved_at

from .errors import NotAuthenticated, NotSignedIn


def web_guard(request: Request) -> Caller:
    """The user who is signed in with this browser.

    Raises a redirect to the login page if the request asks for a page, else `NotSignedIn`.
    """
    if request.authsite.signed_in is None and asks_for_page(request):
        raise login_redirect(request)
    return session_of(request)


def session_of(request: Request) -> Caller:
    """The user who is signed in with this browser; raises `NotSignedIn`."""
    caller: Caller | None = request.authsite.signed_in
    if caller is None:
        raise NotSignedIn
    return caller


def login_redirect(request: Request, *, prompt: bool = False) -> HTTPException:
    """A redirect to the login page, and from there to the page that the request is about.

    ``prompt``: see `login_url`.
    """
    if request.method in SAFE_METHODS:
        return found(request, login_url(request, path_qs(request), prompt=prompt))
    return found(request, _login_after_form(request, prompt=prompt))


def asks_for_page(request: Request) -> bool:
    """Whether a browser asks for a page to show: only then is a redirect to another page of use.

    A script, an image and a frame have another ``Sec-Fetch-Dest`` (W3C Fetch Metadata). ``Accept``
    names ``text/html``; a request without it counts as one for a page, and ``*/*``, which scripts
    and programs send, does not. The recipe for nginx has the same rule (docs/forward-auth.md).
    """
    if request.headers.get("Sec-Fetch-Dest", "document").lower() != "document":
        return False
    accept: str = request.headers.get("Accept", "")
    return not accept or "text/html" in accept.lower()


def signed_in(request: Request) -> Caller | None:
    """``request.authsite.signed_in``: the user of the browser's session, or None.

    Pages without a guard read it.
    """
    session = _find(request, request.authsite.services.database)
    if session is None:
        return None
    restore_guard(request, session)
    return _caller_of(request, session)


def find_by_standby(request: Request, reading: Reading) -> Caller | None:
    """The user as a standby shows the session; None for whatever the primary has to decide."""
    session = _find(request, reading)
    return _caller_of(request, session) if session else None


def _find(request: Request, reader: Reader) -> ActiveBrowserSession | None:
    row_hash = presented(request)
    if not row_hash:
        return None
    services = request.authsite.services
    idle = services.settings.session_idle
    return find_active(reader, services.last_used, row_hash, clock.now(), idle)


def _caller_of(request: Request, session: ActiveBrowserSession) -> Caller:
    settings, amr = request.authsite.settings, unpack(session.facts).amr
    return Caller(
        guard="web",
        account=session.account,
        browser_uuid=session.id,
        proved_by=amr,
        auth_at=proved_at(amr, session.auth_at),
        expires=session.ends_at(settings.session_idle).timestamp(),
        login_names=settings.login_identifiers,
        admin_acr=settings.admin_acr,
    )


def sign_in_ended(_error: SignInEnded, request: Request) -> Response:
    """Exception view: the session or token ended while the view ran; respond as the guard does."""
    if request.authsite.error_format == "html" and not asks_for_page(request):
        request.authsite.error_format = "json"
    if request.authsite.error_format != "html":
        return respond(NotAuthenticated(token_sent=True), request)
    return see_other(request, _login_after_form(request))


def _login_after_form(request: Request, *, prompt: bool = False) -> str:
    """The URL of the login page with a notice that the form was not saved."""
    return login_url(request, page_of_form(request), unsaved=True, prompt=prompt)
