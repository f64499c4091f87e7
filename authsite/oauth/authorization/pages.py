"""The authorization endpoint (RFC 6749, section 3.1; OpenID Connect Core 1.0, section 3.1.2)."""

from typing import Any
from urllib.parse import urlsplit

from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config
from structlog import get_logger

from authsite.oauth.authorization_reasons import Reason, Refused
from authsite.oauth.clients.registered import RegisteredClient
from authsite.oauth.scopes import parse
from authsite.platform.context import Context
from authsite.platform.db.transaction import commit_and_begin, transaction
from authsite.platform.http.address import route_path
from authsite.platform.http.cross_site import is_frame, is_navigation
from authsite.platform.http.error_views import STORAGE_ERRORS
from authsite.platform.http.errors import DENIED, ERROR_OF_REQUEST, ApiError, TemporarilyUnavailable
from authsite.platform.http.forms import set_errors
from authsite.platform.http.rendering import found, render_page, see_other
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request
from authsite.sign_in.errors import InsufficientUserAuthentication
from authsite.sign_in.login_url import confirm_url, verify_url
from authsite.users.account import Account, acr_of

from . import consent_page, continuation, documents, service
from .checks import Checked, check, check_without_client, require_key
from .consent_page import application, login_page
from .continuation import (
    AT,
    CHOSEN,
    LIMIT,
    NO_SIGN_IN,
    Incoming,
    code_url,
    denied_url,
    error_url,
    lead_back,
    take_language,
)
from .incoming import (
    CONTINUE,
    DENY,
    Form,
    browser_of,
    came_from_form,
    first_address,
    is_cross_site,
    of_form,
    of_query,
    visit_of,
)
from .service import SignedIn, Step, Visit, decide, record_refused

# The page for ``prompt=select_account``: go on as the signed-in user, or as another one.


SELECT_ACCOUNT = "authsite:templates/authorization/select_account.jinja2"


def select_account_values(
    request: Request,
    client: RegisteredClient,
    account: Account,
    redirect_uri: str,
    *,
    other_account: str | None = None,
    here: str | None = None,
) -> dict[str, Any]:
    """The values of `SELECT_ACCOUNT`; two of them as in `consent_page.values`."""
    return {
        **application(request, client, redirect_uri),
        "account": account,
        "other_account": other_account or login_page(request),
        "here": here,
    }


# What the browser gets of a refused request: our page, or the way back with the error.
#
# The page shows the id of the request, and a redirect has it in ``X-Request-Id``: ``authsite
# explain ID`` says which check failed.


log = get_logger("authsite.oauth")

REFUSED = "authsite:templates/authorization/refused.jinja2"


class AuthorizationRefused(ApiError):
    """A refused request, for the request log."""

    def __init__(self, refused: Refused) -> None:
        self.status, self.code = refused.reason.status, refused.reason.error
        self.reason, self.shown = str(refused.reason), refused.shown
        self.client_id = refused.client.id if refused.client else None
        super().__init__(refused.description)
        self.why = refused.reason


def refuse(request: Request, refused: Refused, *, after_form: bool, page: bool = False) -> Response:
    """Record the reason, and answer with it. Raises `TooManyAttempts`.

    ``page``: show a page with a link to the application, in place of leading to it. A client that
    no administrator has registered always gets one: a link to us must not lead on to a host that
    a stranger has named, without a press (RFC 9700, section 4.11).

    A request that is not a navigation counts and records nothing, since a page of any site can send
    it, and no user sees a page of ours. Only a frame is led to the application, as ever.
    """
    ctx, navigation = request.authsite.ctx, is_navigation(request)
    if refused.answer_to is None or refused.client is None:
        answer_url = None
    else:
        answer_url = error_url(ctx.services, refused.answer_to, refused)
    shows_page = refused.client is None or answer_url is None or page or refused.client.unverified
    if not navigation and (shows_page or not is_frame(request)):
        response = refused_page(request, refused, status=400)
        request.environ[ERROR_OF_REQUEST].noted = False
        return response
    if navigation and counts(refused):
        try:
            ctx.limits.count(LIMIT, ctx.limits.address)
        except TooManyAttempts:
            if refused.answer_to is None or not refused.answer_to.silent:
                raise
            return refuse(request, unavailable(refused), after_form=after_form)
        record_refused(ctx, refused)
    else:
        _record_seldom(ctx, refused)
    request.environ[DENIED] = AuthorizationRefused(refused)
    if shows_page or refused.client is None or answer_url is None:
        return refused_page(request, refused, back=answer_url)
    # A form that was sent into a frame is not ours.
    return lead_back(request, refused.client.name, answer_url, after_form=after_form and navigation)


def counts(refused: Refused) -> bool:
    """Whether a refusal counts at the address of the browser.

    An application that an administrator has registered may ask at each load of its pages whether
    the user is signed in; and the user causes no failure of ours.
    """
    if refused.reason is Reason.UNAVAILABLE:
        return False
    registered = refused.client is not None and not refused.client.unverified
    return not (refused.reason is Reason.LOGIN_NEEDED and registered)


def unavailable(about: Refused) -> Refused:
    """What the application of a silent request learns in place of a page that no one sees."""
    refused = Refused(Reason.UNAVAILABLE)
    refused.client, refused.answer_to = about.client, about.answer_to
    refused.user_id = about.user_id
    return refused


def _record_seldom(ctx: Context, refused: Refused) -> None:
    """Record once an hour what no limit counts; in an outage the answer does not depend on it."""
    client = str(refused.client.id) if refused.client else ""
    subject = "authorization refused", ctx.limits.address, client, str(refused.reason)
    try:
        if ctx.limits.once_an_hour(*subject):
            record_refused(ctx, refused)
    except STORAGE_ERRORS as error:
        log.warning("authorization_not_recorded", error=type(error).__name__)


def refused_page(
    request: Request, refused: Refused, back: str | None = None, status: int | None = None
) -> Response:
    """The page; ``back``: the link that tells the application. ``status``: by default its own."""
    request.environ[ERROR_OF_REQUEST] = AuthorizationRefused(refused)
    status = status or refused.reason.status
    values: dict[str, Any] = {
        "reason": refused.reason.name,
        "status": status,
        "sentence": refused.sentence,
        "answer": refused.description,
        "sent": refused.details.get("sent"),
        "differs": refused.details.get("differs", "").split(),
        "back": back,
        "host": _host_of(refused) if back else None,
    }
    response = Response(render_page(request, REFUSED, values))
    response.status_int = status
    return response


def _host_of(refused: Refused) -> str | None:
    """The host to which the link leads, for a client that is not verified."""
    if refused.client is None or refused.answer_to is None or not refused.client.unverified:
        return None
    return urlsplit(refused.answer_to.redirect_uri).netloc or None


CONFIRM = "authsite:templates/authorization/confirm.jinja2"
DOCUMENT = "authsite:templates/authorization/document.jinja2"
ROUTE = "authsite.authorize"


@view_config(route_name=ROUTE, request_method="GET", spends=True, permission=NO_PERMISSION_REQUIRED)
def authorize(request: Request) -> Response:
    """Check the request, and lead to the page that is needed, or back to the application."""
    if request.method == "HEAD":  # a safe method: the code is for the GET
        return request.response
    if elsewhere := first_address(request):
        query = request.query_string
        return found(request, f"{elsewhere}?{query}" if query else elsewhere)
    try:
        incoming = of_query(request)
        return _go_on(request, incoming)
    except Refused as refused:
        return refuse(request, refused, after_form=came_from_form(request))


@view_config(route_name=ROUTE, request_method="POST", permission=NO_PERMISSION_REQUIRED)
def decide_or_redirect(request: Request) -> Response:
    """Do what a form of ours says; lead any other POST to the same GET.

    A form of another site comes without our cookies (``SameSite=Lax``), and the GET has them.
    """
    try:
        incoming, form = of_form(request)
        elsewhere = first_address(request)
        if form.decision is None or elsewhere or is_cross_site(request):
            return _same_get(request, incoming, elsewhere)
        try:
            request.authsite.check_csrf(form.csrf_token)
        except ApiError as error:
            request.authsite.record_denial(error)
            set_errors(request, error)
            return _go_on(request, incoming)
        return _decided(request, incoming, form)
    except Refused as refused:
        return refuse(request, refused, after_form=True)


def _decided(request: Request, incoming: Incoming, form: Form) -> Response:
    ctx = request.authsite.ctx
    if form.decision == DENY:
        checked = check(ctx, incoming.sent)
        who = visit_of(request, incoming).signed_in
        if who:  # a stranger has nothing to deny, and must not fill the audit trail
            service.deny(ctx, checked, who.account)
        url = denied_url(ctx.services, checked.answer_to)
        return lead_back(request, checked.client.name, url, after_form=True)
    if form.decision == CONTINUE:
        chosen = continuation.seal_chosen(ctx.services.keys, incoming, browser_of(request))
        return _again(request, incoming, **{CHOSEN: chosen})
    return _go_on(request, incoming, form)


def _go_on(request: Request, incoming: Incoming, form: Form | None = None) -> Response:
    """The page or the redirect of the row that holds. Raises `Refused`."""
    ctx = request.authsite.ctx
    if url := documents.url_of(ctx, incoming.sent):
        current = documents.is_current(ctx, url)
        if not current:  # then the client is unknown, or may have changed
            check_without_client(ctx, incoming.sent)
        visit = visit_of(request, incoming, form)
        if visit.signed_in is None:
            return _sign_in_first(request, incoming)
        if not current:
            pressed = visit.fresh or visit.chosen or visit.allowed
            if not (pressed or documents.is_known(ctx, url, visit.signed_in.account.id)):
                return _document_page(request, incoming, url, visit.signed_in)
            if request.method == "POST":
                commit_and_begin(request)  # the document is fetched outside of a transaction
            documents.fetch(ctx, url, only_stored=not is_navigation(request))
    checked = check(ctx, incoming.sent)
    if not checked.request.silent:
        return _next_step(request, incoming, checked, form)
    try:
        return _next_step(request, incoming, checked, form)
    except (TooManyAttempts, TemporarilyUnavailable, *STORAGE_ERRORS) as error:
        log.warning("silent_request_failed", error=type(error).__name__, cause=str(error)[:200])
        raise service.refused(checked, Reason.UNAVAILABLE) from None


def _next_step(
    request: Request, incoming: Incoming, checked: Checked, form: Form | None
) -> Response:
    ctx = request.authsite.ctx
    take_language(request, incoming.sent)
    require_key(ctx, checked)
    visit = visit_of(request, incoming, form)
    step, silent = decide(service.state_of(ctx, checked, visit))
    who = visit.signed_in
    account = who.account if who else None
    if silent and checked.request.silent:
        raise service.refused(checked, silent, account)
    if step is Step.VERIFY and silent is Reason.LOGIN_NEEDED and not visit.fresh:
        step = Step.LOGIN if _at_provider(request, checked) else step
    if step in (Step.LOGIN, Step.REGISTER):
        return _sign_in(request, incoming, checked.request.provider, visit.signed_in, step)
    if who is not None and step is Step.VERIFY:
        return _verify(request, incoming, checked, visit, who)
    if who is None:
        raise RuntimeError("every other step is one of a signed-in user")
    documents.note_asked(ctx, checked.client)
    if step is Step.NOT_IN_GROUP:
        refused = service.refused(checked, Reason.GROUP, account)
        return refuse(request, refused, after_form=True, page=True)
    if step is Step.ANSWER:
        return _answer(request, incoming, checked, visit, who)
    return _page(request, step, incoming, checked, who)


def _at_provider(request: Request, checked: Checked) -> bool:
    """Whether the application names a provider, which then is asked instead of our page."""
    name = checked.request.provider
    return name is not None and request.authsite.settings.provider(name) is not None


def _sign_in_first(request: Request, incoming: Incoming) -> Response:
    """Lead to the sign-in before the client is known. Raises `Refused`."""
    sent = incoming.sent
    documents.require_page(sent)
    step = Step.REGISTER if documents.wants_registration(request.authsite.ctx, sent) else Step.LOGIN
    return _sign_in(request, incoming, sent.once("provider"), None, step)


def _sign_in(
    request: Request, incoming: Incoming, provider: str | None, who: SignedIn | None, step: Step
) -> Response:
    """Lead to the page that signs in or registers the user, and from there to this request."""
    next_ = _next(request, incoming, who)
    if provider and request.authsite.settings.provider(provider):
        name = "authsite.provider.start"
        path = route_path(request, name, name=provider, _query={"next": next_})
    elif step is Step.REGISTER:
        path = route_path(request, "authsite.register.page", _query={"next": next_})
    else:
        query = {"next": next_} | ({"prompt": "login"} if who else {})
        path = route_path(request, "authsite.login.page", _query=query)
    return see_other(request, path) if request.method == "POST" else found(request, path)


def _verify(
    request: Request, incoming: Incoming, checked: Checked, visit: Visit, who: SignedIn
) -> Response:
    """Lead to the page that asks for what is missing, and from there to this request.

    A request whose user has signed in since keeps the time of that: a further factor is not a
    new sign-in, and `prompt=login` would ask for another one without end.
    """
    level = service.level_needed(request.authsite.ctx, checked, who)
    needed = InsufficientUserAuthentication(service.age_needed(checked, visit), level)
    path = verify_url(request, _next(request, incoming, who, keep=visit.fresh), needed)
    return see_other(request, path) if request.method == "POST" else found(request, path)


def _answer(
    request: Request, incoming: Incoming, checked: Checked, visit: Visit, who: SignedIn
) -> Response:
    ctx = request.authsite.ctx
    if visit.allowed:
        service.give_consent(ctx, checked, who)
        commit_and_begin(request)  # the code is stored in a transaction of its connection
    code = service.grant(ctx, checked, who)
    if code is None:
        return _again(request, incoming)
    url = code_url(ctx.services, checked.answer_to, code)
    return lead_back(request, checked.client.name, url, after_form=came_from_form(request))


def _page(
    request: Request, step: Step, incoming: Incoming, checked: Checked, who: SignedIn
) -> Response:
    """One of the pages that ask the signed-in user. Their forms go to the page's own address."""
    ctx, client, account = request.authsite.ctx, checked.client, who.account
    uri, next_ = checked.answer_to.redirect_uri, _next(request, incoming, who)
    login = {"prompt": "login", "next": next_}
    other = route_path(request, "authsite.login.page", _query=login)
    response = request.response
    if step is Step.CONSENT:
        scopes = parse(service.held_scope(ctx, checked, who))
        added, acr = service.added_scopes(ctx, checked, who), acr_of(who.amr)
        values = consent_page.values(
            request, client, account, scopes, uri,
            acr=acr, added=added, resource=checked.audience, other_account=other,
        )  # fmt: skip
        response.text = render_page(request, consent_page.CONSENT, values)
        return response
    if step is Step.CHOOSE:
        values = select_account_values(request, client, account, uri, other_account=other)
        response.text = render_page(request, SELECT_ACCOUNT, values)
        return response
    values = {
        **consent_page.application(request, client, uri),
        "account": account,
        "other_account": other,
        "link": confirm_url(request, next_),
        "back": denied_url(ctx.services, checked.answer_to),
    }
    response.text = render_page(request, CONFIRM, values)
    response.status_int = 403
    return response


def _document_page(request: Request, incoming: Incoming, url: str, who: SignedIn) -> Response:
    """The page before the document of an unknown host is fetched; its form goes on as that of
    `Step.CHOOSE`. Raises `Refused` where no page may be shown."""
    if incoming.sent.silent:
        raise Refused(Reason.CONSENT_NEEDED)
    login = {"prompt": "login", "next": _next(request, incoming, who)}
    values = {
        "document_host": urlsplit(url).netloc,
        "account": who.account,
        "other_account": route_path(request, "authsite.login.page", _query=login),
    }
    response = request.response
    response.text = render_page(request, DOCUMENT, values)
    return response


def _same_get(request: Request, incoming: Incoming, elsewhere: str | None) -> Response:
    """303 to the GET of this request, which is stored if it is too long for a URL."""
    path = elsewhere or route_path(request, ROUTE)
    target = f"{path}?{continuation.query_of(incoming)}"
    if not continuation.fits(target):
        ctx = request.authsite.ctx
        if documents.url_of(ctx, incoming.sent) is None:  # whose client may not be known yet
            check(ctx, incoming.sent)  # what is refused is not stored
        target = f"{path}?{continuation.query_of(_stored(request, incoming))}"
    return see_other(request, target)


def _next(request: Request, incoming: Incoming, who: SignedIn | None, *, keep: bool = False) -> str:
    """The path that comes back to this request after another sign-in than that of ``who``.

    ``keep``: with the time at which it first led away.
    """
    at = incoming.at if keep else None
    if at is None:
        keys, sign_in = request.authsite.services.keys, who.digest if who else NO_SIGN_IN
        at = continuation.seal_at(keys, incoming, browser_of(request), sign_in)
    path = _path(request, incoming, **{AT: at})
    if continuation.fits(path):
        return path
    return _path(request, _stored(request, incoming), **{AT: at})


def _again(request: Request, incoming: Incoming, **ours: str) -> Response:
    """Lead to the GET of this request, to which another row may apply now."""
    ours |= {AT: incoming.at} if incoming.at else {}
    path = _path(request, incoming, **ours)
    return see_other(request, path) if request.method == "POST" else found(request, path)


def _stored(request: Request, incoming: Incoming) -> Incoming:
    ctx = request.authsite.ctx
    if incoming.reference is None:
        if not is_navigation(request):
            raise Refused(Reason.NOT_A_PAGE)
        ctx.limits.count(LIMIT, ctx.limits.address)
    with transaction(request):
        return continuation.store(ctx, incoming)


def _path(request: Request, incoming: Incoming, **ours: str) -> str:
    return f"{route_path(request, ROUTE)}?{continuation.query_of(incoming, **ours)}"
