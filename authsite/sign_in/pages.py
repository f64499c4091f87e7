"""What every page does once a sign-in with a browser has gone on."""

from pyramid.response import Response

from authsite.guards import undo_notice
from authsite.guards.known_address import forget_address
from authsite.guards.return_to import forget_next
from authsite.http.address import route_path
from authsite.http.rendering import go_on, see_other
from authsite.rate_limit import device_cookie
from authsite.request_state import Request
from authsite.sessions import cookies
from authsite.sessions.service import SignIn

from .cookie import forget_key, keep_key
from .methods import METHODS, Pending


def lead_in(request: Request, outcome: SignIn | Pending) -> Response:
    """Set the cookies of a session and lead to its page, or to the page of the next proof."""
    if isinstance(outcome, Pending):
        keep_key(request, outcome.key)
        return see_other(request, route_path(request, _page_of(request, outcome)))
    cookies.set_session(request, outcome.key, remember=outcome.target.remember)
    forget_key(request)
    undo_notice.announce(request, outcome.user_id)
    device_cookie.set_cookie(request)
    forget_address(request)
    forget_next(request)
    return go_on(request, outcome.target.next or route_path(request, "authsite.account"))


def _page_of(request: Request, pending: Pending) -> str:
    methods = METHODS.of(request.authsite.services)
    page = next((page for name in pending.methods if (page := methods[name].page)), None)
    if page is None:
        names = ", ".join(pending.methods)
        raise RuntimeError(f"no method of {names} has a page: register one of them with its page")
    return page
