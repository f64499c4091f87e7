"""What the browser gets of a refused request: our page, or the way back with the error.

The page shows the id of the request, and a redirect has it in ``X-Request-Id``: ``authsite explain
ID`` says which check failed.
"""

from typing import Any
from urllib.parse import urlsplit

from pyramid.response import Response
from structlog import get_logger

from authsite.oauth.authorization_reasons import Reason, Refused
from authsite.platform.context import Context
from authsite.platform.http.cross_site import is_frame, is_navigation
from authsite.platform.http.error_views import STORAGE_ERRORS
from authsite.platform.http.errors import DENIED, ERROR_OF_REQUEST, ApiError
from authsite.platform.http.rendering import render_page
from authsite.platform.rate_limit.errors import TooManyAttempts
from authsite.platform.request_state import Request

from .answers import error_url, lead_back
from .continuation import LIMIT
from .service import record_refused

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
