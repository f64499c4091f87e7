"""The page that removes a factor which a recovery has left; see `sign_in.factors.remaining`."""

from typing import Any
from uuid import UUID

from pyramid.response import Response

from authsite.guards.bearer import login_redirect
from authsite.platform.http.address import route_path
from authsite.platform.http.forms import form_view, link_view
from authsite.platform.http.rendering import found, see_other
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_id
from authsite.sign_in.factors import remaining
from authsite.sign_in.login_url import verify_url
from authsite.sign_in.reauthentication import read, signed_in_as_asked
from authsite.users.account_pages import common_values, page_of
from authsite.users.caller import caller_of

from . import service

REMAINING = "authsite:templates/account/remaining_factors.jinja2"
ROUTE = "authsite.account.factors.remaining"


def _page(request: Request) -> dict[str, Any]:
    """What is left, if the link serves this user; else the page says that it does not."""
    ctx, user = request.authsite.ctx, caller_of(request).signed_in_user()
    token = request.matchdict["token"]
    serves = remaining.read_token(ctx, ctx.db, token) == user.account.id
    if not serves:
        request.response.status_int = 403
    return {
        **common_values(request, page_of(request)),
        "token": token if serves else None,
        "remaining": remaining.list_of(ctx.db, user.account.id) if serves else [],
        "removed": request.GET.get("removed"),
    }


def _onward(request: Request) -> Response | None:
    """Where the sign-in is completed first; None if it is what a sign-in takes, and recent."""
    ctx, user = request.authsite.ctx, caller_of(request).signed_in_user()
    lacks = signed_in_as_asked(user, read(ctx, user))
    if lacks == "password":
        return login_redirect(request, prompt=True)
    if lacks:
        page = route_path(request, ROUTE, token=request.matchdict["token"])
        return found(request, verify_url(request, page, lacks))
    return None


@link_view(ROUTE, REMAINING)
def show(request: Request) -> dict[str, Any] | Response:
    """The factors that stay, with a button for each."""
    return _onward(request) or _page(request)


def _to_page(request: Request) -> Response:
    """Redirect the path of a form to its page."""
    page = route_path(request, ROUTE, token=request.matchdict["token"])
    return found(request, page)


@form_view(f"{ROUTE}.remove", show=_page, get=_to_page, renderer=REMAINING)
def remove(request: Request) -> dict[str, Any] | Response:
    """Remove one of them."""
    if onward := _onward(request):
        return onward
    ctx, user = request.authsite.ctx, caller_of(request).signed_in_user()
    token, factor_id = request.matchdict["token"], as_id(request.matchdict["id"])
    if not service.remove_remaining(ctx, user, token, factor_id or UUID(int=0)):
        return _page(request)
    page = route_path(request, ROUTE, token=token, _query={"removed": "1"})
    return see_other(request, page)
