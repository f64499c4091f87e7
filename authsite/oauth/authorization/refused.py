"""What the browser gets of a refused request: our page, or the way back with the error.

The page shows the id of the request, and a redirect has it in ``X-Request-Id``: ``authsite explain
ID`` says which check failed.
"""

from typing import Any
from urllib.parse import urlsplit

from pyramid.response import Response

from authsite.oauth.authorization_reasons import Refused
from authsite.platform.http.errors import DENIED, ERROR_OF_REQUEST, ApiError
from authsite.platform.http.rendering import render_page
from authsite.platform.request_state import Request

from .answers import error_url, lead_back
from .continuation import LIMIT
from .service import record_refused

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
    """
    ctx = request.authsite.ctx
    ctx.limits.count(LIMIT, ctx.limits.address)
    record_refused(ctx, refused)
    request.environ[DENIED] = AuthorizationRefused(refused)
    if refused.answer_to is None or refused.client is None:
        return refused_page(request, refused)
    url = error_url(ctx.services, refused.answer_to, refused)
    if page or refused.client.unverified:
        return refused_page(request, refused, back=url)
    return lead_back(request, refused.client.name, url, after_form=after_form)


def refused_page(request: Request, refused: Refused, back: str | None = None) -> Response:
    """The page; ``back``: the link that tells the application."""
    request.environ[ERROR_OF_REQUEST] = AuthorizationRefused(refused)
    values: dict[str, Any] = {
        "reason": refused.reason.name,
        "status": refused.reason.status,
        "sentence": refused.sentence,
        "answer": refused.description,
        "sent": refused.details.get("sent"),
        "differs": refused.details.get("differs", "").split(),
        "back": back,
        "host": _host_of(refused) if back else None,
    }
    response = Response(render_page(request, REFUSED, values))
    response.status_int = refused.reason.status
    return response


def _host_of(refused: Refused) -> str | None:
    """The host to which the link leads, for a client that is not verified."""
    if refused.client is None or refused.answer_to is None or not refused.client.unverified:
        return None
    return urlsplit(refused.answer_to.redirect_uri).netloc or None
