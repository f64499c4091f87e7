"""The end session endpoint (OpenID Connect RP-Initiated Logout 1.0).

An application sends a browser here to sign its user out. A link or an image of any other site may
lead here, too, so a session ends without a question only by a valid ID token that is about it.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.oauth.authorization.consent_page import lead_to
from authsite.oauth.authorization.continuation import take_language
from authsite.oauth.authorization.request import MAX_REQUEST, MAX_STATE, Parameters, pairs_of
from authsite.oauth.authorization_reasons import Refused
from authsite.oauth.clients import document_urls, redirect_uris, registered
from authsite.oauth.clients.registered import RegisteredClient
from authsite.oauth.codes import session_end
from authsite.oauth.models import POST_LOGOUT
from authsite.oauth.oidc import id_tokens
from authsite.oauth.oidc.errors import NotOurIdToken
from authsite.oauth.oidc.keys import ring
from authsite.oauth.tokens.format import kind_of
from authsite.platform.context import Context
from authsite.platform.db.transaction import transaction
from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import form_pairs
from authsite.platform.http.errors import ERROR_OF_REQUEST, ApiError
from authsite.platform.http.forms import set_errors
from authsite.platform.http.rendering import found, home_path, render_page, see_other
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_client_id, as_id
from authsite.sign_in.sessions import cookies
from authsite.sign_in.sessions import service as sessions
from authsite.users.caller import signed_in

from ..incoming import CSRF, DECISION, first_address, is_cross_site
from .reasons import LogoutReason, LogoutRefused

# Read a request for a logout: OpenID Connect RP-Initiated Logout 1.0, sections 2 and 3.


KNOWN = ("id_token_hint", "client_id", "post_logout_redirect_uri", "state", "ui_locales")


class HintedSession(NamedTuple):
    """The browser session that an ID token is about, and its user."""

    id: UUID
    user_id: UUID


class Logout(NamedTuple):
    """A valid request for a logout.

    ``hinted``: the session of a valid ID token; None without a hint. ``client``: the application
    that asks, if it says so. ``target``: the URL that the browser is led to afterwards.
    ``unverified``: no administrator has registered the application, which may be gone.
    """

    hinted: HintedSession | None
    client: RegisteredClient | None
    target: str | None
    unverified: bool


def parameters(pairs: Iterable[tuple[str, str]]) -> Parameters:
    """What was sent, of the parameters that are known here; an empty value counts as none.

    Raises `LogoutRefused` if it is too long, before anything else is done with it.
    """
    sent = [(name, value) for name, value in pairs if name in KNOWN]
    names = [name for name, _value in sent]
    repeated = frozenset(name for name in names if names.count(name) > 1)
    values = {name: value for name, value in sent if value}
    found = Parameters(urlencode(sent), values, repeated)
    if found.too_long:
        raise _too_long(len(found.query), MAX_REQUEST, "request")
    return found


def check(ctx: Context, sent: Parameters) -> Logout:
    """The request, if everything in it is right. Raises `LogoutRefused`, and SQLAlchemy's errors.

    The hint is signed by this service, whenever it has expired: a user must not be kept signed in
    because the application was idle.
    """
    values = sent.values
    if sent.repeated:
        names = {"parameter": " ".join(sorted(sent.repeated))}
        raise LogoutRefused(LogoutReason.REPEATED, names)
    if (length := len(values.get("state", ""))) > MAX_STATE:
        raise _too_long(length, MAX_STATE, "state")
    claims = _claims(ctx, values.get("id_token_hint"))
    client_id = values.get("client_id")
    if claims is not None:
        audience = str(claims.get("aud"))
        if client_id and not _is_same(client_id, audience):
            both = {"sent": client_id, "expected": audience}
            raise LogoutRefused(LogoutReason.CLIENT_OTHER, both, as_id(audience))
        client_id = audience
    client = registered.find(ctx, client_id) if client_id else None
    if client_id and client is None and claims is None:
        raise LogoutRefused(LogoutReason.CLIENT_UNKNOWN, {"sent": client_id})
    target = _target(ctx, client, values)
    unverified = client.unverified if client else document_urls.is_url(client_id or "")
    return Logout(None if claims is None else _session_of(claims), client, target, unverified)


def _too_long(length: int, most: int, what: str) -> LogoutRefused:
    shown = {"sent": f"{length} characters", "expected": f"at most {most} characters of {what}"}
    return LogoutRefused(LogoutReason.TOO_LONG, shown)


def _is_same(client_id: str, audience: str) -> bool:
    """Whether the request names the client for which the ID token is; see `as_client_id`."""
    if client_id == audience:
        return True
    named = as_client_id(client_id)
    return named is not None and named == as_id(audience)


def _claims(ctx: Context, hint: str | None) -> Mapping[str, object] | None:
    if hint is None:
        return None
    try:
        return id_tokens.claims_of(ctx, hint)
    except NotOurIdToken:
        raise LogoutRefused(LogoutReason.HINT, {"sent": kind_of(hint)}) from None


def _session_of(claims: Mapping[str, object]) -> HintedSession:
    session_id, user_id = (as_id(str(claims.get(name))) for name in ("sid", "sub"))
    if session_id is None or user_id is None:
        raise LogoutRefused(LogoutReason.HINT_SESSION, client_id=as_id(str(claims.get("aud"))))
    return HintedSession(session_id, user_id)


def _target(ctx: Context, client: RegisteredClient | None, values: Mapping[str, str]) -> str | None:
    uri = values.get("post_logout_redirect_uri")
    if uri is None:
        return None
    if client is None:
        named = values.get("id_token_hint")  # its client was disabled or deleted since
        reason = LogoutReason.CLIENT_UNKNOWN if named else LogoutReason.URI_UNCHECKED
        raise LogoutRefused(reason, {"sent": uri, "expected": "id_token_hint or client_id"})
    known = registered.uris_of(ctx, client.id, POST_LOGOUT)
    if not any(redirect_uris.matches(each, uri, client.type) for each in known):
        differs = redirect_uris.difference(known, uri, client.type)
        raise LogoutRefused(LogoutReason.URI, {"sent": uri, **differs}, client.id)
    if "state" not in values:
        return uri
    return f"{uri}{'&' if '?' in uri else '?'}{urlencode({'state': values['state']})}"


ROUTE, PATH = "authsite.oauth.end_session", "/oauth/logout"
LOGOUT = "authsite:templates/authorization/logout.jinja2"
SIGN_OUT = "sign_out"


class LogoutNotValid(ApiError):
    """A request for a logout that leads to no application, for the request log."""

    status = 400
    code = "invalid_request"

    def __init__(self, refused: LogoutRefused) -> None:
        super().__init__()
        self.because(refused.reason, **refused.shown)
        self.client_id = refused.client_id


@view_config(route_name=ROUTE, request_method="GET", spends=True, permission=NO_PERMISSION_REQUIRED)
def end_session(request: Request) -> Response:
    """End the session that the ID token is about, or ask whether to end that of the browser."""
    if request.method == "HEAD":  # a safe method: nothing ends
        return request.response
    if elsewhere := first_address(request, PATH):
        query = request.query_string
        return found(request, f"{elsewhere}?{query}" if query else elsewhere)
    ring.require_signers(request.authsite.ctx)
    try:
        sent = _of_query(request)
        take_language(request, sent)
        logout = check(request.authsite.ctx, sent)
    except LogoutRefused as refused:
        return _page(request, None, refused)
    if _ends_by_hint(request, logout):
        return see_other(request, logout.target or _signed_out(request))
    return _page(request, logout)


def _ends_by_hint(request: Request, logout: Logout) -> bool:
    """Whether the valid hint is enough, without a page; then what it may end has ended.

    With the cookie of its session that is the session. Without one the request may come from the
    server of the application: it ends what the application has of that session, and no more. An
    application that no administrator has registered ends nothing by itself.
    """
    hinted, client = logout.hinted, logout.client
    here = _session_here(request)
    if hinted is None or here not in (None, hinted) or logout.unverified:
        return False
    if here:
        _end(request, here)
    elif client:
        with transaction(request):
            session_end.end_of_client(request.authsite.ctx, hinted.user_id, hinted.id, client.id)
    return True


@view_config(route_name=ROUTE, request_method="POST", permission=NO_PERMISSION_REQUIRED)
def end_or_redirect(request: Request) -> Response:
    """End the session of the browser if our form says so; lead any other POST to the same GET.

    A form of another site comes without our cookies (``SameSite=Lax``), and the GET has them.
    """
    ring.require_signers(request.authsite.ctx)
    pairs = form_pairs(request)
    form = {name: value for name, value in pairs if name in (DECISION, CSRF)}
    try:
        sent = _of_query(request, pairs)
        elsewhere = first_address(request, PATH)
        if form.get(DECISION) != SIGN_OUT or elsewhere or is_cross_site(request):
            return _same_get(request, sent, elsewhere)
        take_language(request, sent)
        logout, problem = check(request.authsite.ctx, sent), None
    except LogoutRefused as refused:
        logout, problem = None, refused
    try:
        request.authsite.check_csrf(form.get(CSRF))
    except ApiError as error:
        request.authsite.record_denial(error)
        set_errors(request, error)
        return _page(request, logout, problem)
    if here := _session_here(request):
        _end(request, here)
    if logout and logout.client and logout.target:
        cookies.clear_session(request)
        return lead_to(request, logout.client.name, logout.target)
    return see_other(request, _signed_out(request))


def _of_query(request: Request, more: list[tuple[str, str]] | None = None) -> Parameters:
    """The parameters in the query, and ``more`` of a form. Raises `LogoutRefused`."""
    try:
        pairs = pairs_of(request.query_string.encode("latin-1"))
    except Refused:
        raise LogoutRefused(LogoutReason.UNREADABLE) from None
    return parameters([*pairs, *(more or [])])


def _same_get(request: Request, sent: Parameters, elsewhere: str | None) -> Response:
    """303 to the GET of this request."""
    path = elsewhere or route_path(request, ROUTE)
    return see_other(request, f"{path}?{sent.query}" if sent.query else path)


def _session_here(request: Request) -> HintedSession | None:
    caller = signed_in(request)
    if caller is None or caller.browser_uuid is None:
        return None
    return HintedSession(caller.browser_uuid, caller.acting_user().id)


def _end(request: Request, session: HintedSession) -> None:
    """End a session with the tokens that belong to it, and delete the cookies."""
    with transaction(request):
        sessions.end(request.authsite.ctx, session.user_id, session.id)
    cookies.clear_session(request)


def _signed_out(request: Request) -> str:
    return f"{home_path(request)}?done=signed-out"


def _page(
    request: Request, logout: Logout | None, problem: LogoutRefused | None = None
) -> Response:
    """The page that asks; it leads to no application if there is a ``problem``."""
    response, error = request.response, None
    caller, here = signed_in(request), route_path(request, ROUTE)
    if problem:  # its form is sent without what is wrong, which leads to no application either way
        response.status_int = LogoutNotValid.status
        error = request.environ[ERROR_OF_REQUEST] = LogoutNotValid(problem)
    elif request.query_string:
        here = f"{here}?{request.query_string}"
    client = logout.client if logout else None
    values = {
        # A stranger's words are not for users who have not come to them by themselves.
        "application": client.name if client and not client.unverified else None,
        "account": caller.account if caller else None,
        "problem": problem.reason.person if problem else None,
        "answer": str(error) if error else None,
        "sent": problem.shown.get("sent") if problem and "differs" in problem.shown else None,
        "differs": problem.shown.get("differs", "").split() if problem else (),
        "status": response.status_int,
        "here": here,
    }
    response.text = render_page(request, LOGOUT, values)
    return response
