"""The api guard: a bearer token in the Authorization header (RFC 6750, section 2.1)."""

import re
from collections.abc import Sequence
from datetime import datetime

from pyramid.httpexceptions import HTTPException
from pyramid.response import Response
from pyramid.security import Allowed, Denied

from authsite.oauth.oidc import access_tokens
from authsite.oauth.tokens import active, active_personal
from authsite.oauth.tokens.active import ActiveToken
from authsite.oauth.tokens.active_personal import ActivePersonalToken
from authsite.oauth.tokens.format import PersonalTokenValues, Token, kind_of
from authsite.platform.context import Services
from authsite.platform.db.prepared import Reader
from authsite.platform.db.standbys import Reading
from authsite.platform.http.address import path_qs
from authsite.platform.http.error_views import respond
from authsite.platform.http.headers import SAFE_METHODS
from authsite.platform.http.rendering import found, see_other
from authsite.platform.http.return_to import page_of_form
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import unpack
from authsite.sign_in.login_url import login_url
from authsite.sign_in.sessions.active import ActiveBrowserSession, find_active
from authsite.sign_in.sessions.cookies import presented, restore_guard
from authsite.users.account import proved_at
from authsite.users.caller import Caller
from authsite.users.errors import SignInEnded

from .errors import NotAuthenticated, NotSignedIn
from .reasons import GuardReason

# Registered with the IANA, and others that are common. What else is in front may be a secret.
_SCHEMES = frozenset(
    ("apikey", "basic", "bearer", "digest", "dpop", "jwt", "negotiate", "ntlm", "oauth", "token")
)
_BEARER = re.compile(r"bearer(?: ++|$)(.{0,4096})", re.IGNORECASE)


def api_guard(request: Request) -> Caller:
    """The caller that the request's token belongs to.

    A forged or expired token is rejected without a query. For any other there is one query, of the
    table that the text of the token names. Raises `NotAuthenticated`.
    """
    sent: str = request.environ.get("HTTP_AUTHORIZATION", "")
    header = _BEARER.fullmatch(sent)
    if header is None:
        raise NotAuthenticated(
            token_sent=is_sent(request),
            why=GuardReason.NO_TOKEN,
            sent=_kind_of_header(sent) if sent else None,
        )
    now, services = clock.now(), request.authsite.services
    token = access_tokens.decode_any(services, header[1], now)
    if token is None:
        looks = kind_of(header[1])
        raise NotAuthenticated(token_sent=True, why=GuardReason.NOT_VALID, sent=looks)
    caller = _find(services, services.database, token, now)
    if caller is None:
        raise NotAuthenticated(token_sent=True, why=GuardReason.NOT_ACTIVE)
    return caller


def _kind_of_header(sent: str) -> str:
    """What another header looks like, for operators: it may be a token without its scheme."""
    scheme = sent.partition(" ")[0]
    return f"the scheme {scheme}" if scheme.lower() in _SCHEMES else kind_of(sent)


def is_sent(request: Request) -> bool:
    """Whether the header Authorization is for this guard, also if its token is not valid."""
    sent: str = request.environ.get("HTTP_AUTHORIZATION", "")
    return sent[:6].lower() == "bearer"


def find_by_standby(request: Request, reading: Reading) -> Caller | None:
    """The caller as a standby shows it; None for whatever `api_guard` has to decide."""
    header = _BEARER.fullmatch(request.environ.get("HTTP_AUTHORIZATION", ""))
    now, services = clock.now(), request.authsite.services
    token = access_tokens.decode_any(services, header[1], now) if header else None
    return _find(services, reading, token, now) if token else None


def _find(
    services: Services, reader: Reader, token: Token | PersonalTokenValues, now: datetime
) -> Caller | None:
    if isinstance(token, PersonalTokenValues):
        found = active_personal.find_active(reader, token)
        return found and _of_personal(services, token, found, now)
    family = active.find_active(reader, token, now, services.settings.refresh_grace)
    return family and _of_family(services, token, family, now)


def read_together(services: Services, callers: Sequence[Caller]) -> list[Caller | None]:
    """The callers as the database has them now; None for a token that is no longer active."""
    now, grace = clock.now(), services.settings.refresh_grace
    of_families = [each.token.family_id for each in callers if isinstance(each.token, Token)]
    personal = [each.token.id for each in callers if isinstance(each.token, PersonalTokenValues)]
    families = active.find_together(services.database, of_families) if of_families else {}
    rows = active_personal.find_together(services.database, personal) if personal else {}

    def again(token: object) -> Caller | None:
        if isinstance(token, PersonalTokenValues):
            found = rows.get(token.id)
            return found and _of_personal(services, token, found, now)
        if not isinstance(token, Token):
            return None
        family = families.get(token.family_id)
        if family is None or not active.is_current(token, family, now, grace):
            return None
        return _of_family(services, token, family, now)

    return [again(each.token) for each in callers]


def credential(request: Request) -> str | None:
    """The Authorization header, or None."""
    return request.environ.get("HTTP_AUTHORIZATION")


def _of_family(services: Services, token: Token, family: ActiveToken, now: datetime) -> Caller:
    active.note_use(services.last_used, token, family, now)
    facts = unpack(family.facts)
    of_login = family.account is not None
    return Caller(
        guard="api",
        account=family.account,
        scope=tuple(family.scope.split()),
        token=token,
        family_uuid=token.family_id,
        personal_token=False,
        client_uuid=family.client_id,
        client_url=facts.client,
        client_name=family.client_name,
        proved_by=facts.amr if of_login else (),
        auth_at=proved_at(facts.amr, family.auth_at) if of_login else None,
        third_party=facts.third_party,
        audience=facts.audience,
        expires=token.expires,
        login_names=services.settings.login_identifiers,
        admin_acr=services.settings.admin_acr,
    )


def _of_personal(
    services: Services, token: PersonalTokenValues, found: ActivePersonalToken, now: datetime
) -> Caller:
    active_personal.note_use(services.last_used, token, now)
    return Caller(
        guard="api",
        account=found.account,
        scope=tuple(found.scope.split()),
        token=token,
        personal_token=True,
        expires=token.expires,
        login_names=services.settings.login_identifiers,
        admin_acr=services.settings.admin_acr,
    )


# The web guard: a session cookie opens pages; other browsers are redirected to the login page.


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
    session = _session_find(request, request.authsite.services.database)
    if session is None:
        return None
    restore_guard(request, session)
    return _caller_of(request, session)


def find_session_by_standby(request: Request, reading: Reading) -> Caller | None:
    """The user as a standby shows the session; None for whatever the primary has to decide."""
    session = _session_find(request, reading)
    return _caller_of(request, session) if session else None


def _session_find(request: Request, reader: Reader) -> ActiveBrowserSession | None:
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


# The security policy of the stand-alone application.


class DefaultDenyPolicy:
    """The stand-alone security policy: a view is open only if it, or its route's guard, says so."""

    def identity(self, request: Request) -> Caller | None:
        caller: Caller | None = request.authsite.caller
        return caller

    def authenticated_userid(self, request: Request) -> str | None:
        caller = request.authsite.caller
        return str(caller.account.id) if caller and caller.account else None

    def permits(self, request: Request, context: object, permission: str) -> Allowed | Denied:
        if request.authsite.caller is not None:
            return Allowed("the route's guard let the caller in")
        return Denied("the route has no guard, and the view does not say that it is open")

    def remember(self, request: Request, userid: str, **kw: object) -> list[tuple[str, str]]:
        return []

    def forget(self, request: Request, **kw: object) -> list[tuple[str, str]]:
        return []
