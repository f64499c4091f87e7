"""The page that the link in a mail with a code opens."""

from typing import Any
from uuid import UUID

from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import Body, Token
from authsite.platform.http.forms import form_view, link_view
from authsite.platform.http.rendering import found
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.sign_in import gate
from authsite.sign_in.login_url import login_url
from authsite.sign_in.method import Pending, Wrong
from authsite.sign_in.pages import lead_in
from authsite.sign_in.pending_cookie import read_key
from authsite.sign_in.sessions import cookies, service
from authsite.sign_in.signed_in_already import lead_on_signed_in

from . import codes
from . import service as mail_code
from .mails import find_waiting

CODE = "authsite:templates/login/code.jinja2"


class LinkForm(Body):
    """The token of the link that the page was opened with."""

    token: Token


@link_view("authsite.login.code.link", CODE)
def show_link(request: Request) -> dict[str, Any]:
    """The page of the mailed link; opening it changes nothing, as scanners of mail do.

    In the browser that has asked it has a button, elsewhere the code to type there.
    """
    return _page(request, request.matchdict["token"])


def to_login(request: Request) -> Response:
    """Without a link there is nothing to show."""
    return found(request, login_url(request))


def show_again(request: Request) -> dict[str, Any]:
    """The page after an error."""
    return _page(request, request.authsite.raw_form.get("token", ""))


@form_view(
    "authsite.login.code",
    LinkForm,
    show=show_again,
    get=to_login,
    instead=lead_on_signed_in(),
    renderer=CODE,
    permission=NO_PERMISSION_REQUIRED,
)
def press(request: Request) -> dict[str, Any] | Response:
    """Go on with the sign-in of this browser, as if its code had been typed."""
    ctx, token = request.authsite.ctx, request.authsite.validated.token
    row_id = codes.read_link(ctx.services.keys, token, clock.now())
    pending = row_id and _pending_here(request, row_id)
    if not pending:
        return _page(request, token)
    given = {"code": codes.code_of(ctx.services.keys, pending.id)}
    try:
        outcome = service.resume(
            ctx, pending.key, mail_code.NAME, given, former_key=cookies.session_key(request)
        )
    except gate.PendingEnded:
        return _page(request, "")
    return _page(request, "") if isinstance(outcome, Wrong) else lead_in(request, outcome)


def _page(request: Request, token: str) -> dict[str, Any]:
    """``state``: "here" (with ``token``), "elsewhere" (with ``code``), or "invalid"."""
    ctx = request.authsite.ctx
    row_id = codes.read_link(ctx.services.keys, token, clock.now())
    row = find_waiting(ctx.database, row_id, clock.now()) if row_id else None
    if row is None or row_id is None:
        request.response.status_int = 400
        return {"state": "invalid", "login": route_path(request, "authsite.login.page")}
    if _pending_here(request, row_id):
        return {"state": "here", "token": token}
    return {
        "state": "elsewhere",
        "code": codes.code_of(ctx.services.keys, row_id),
        "for_change": row.session_id is not None,
    }


def _pending_here(request: Request, row_id: UUID) -> Pending | None:
    """The pending login of this browser, if it is the one of the link and waits for its code."""
    ctx = request.authsite.ctx
    try:
        here = gate.find_pending(ctx, read_key(request))
    except gate.PendingEnded:
        return None
    return here if here.id == row_id and gate.accepts(ctx, here, mail_code.NAME) else None
