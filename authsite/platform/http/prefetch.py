"""Requests that a browser sends ahead, for a page that its user may never open.

What such a request spent or counted would be gone when the user comes: a provider's return works
once. Browsers name the reason in ``Sec-Purpose`` (Fetch standard), older ones in ``Purpose``; with
an error they ask again when the user does.
"""

from pyramid.interfaces import IViewDeriverInfo
from pyramid.response import Response

from authsite.platform.request_state import Request, View, view_options

from .errors import TemporarilyUnavailable
from .headers import SAFE_METHODS
from .own_routes import is_own_view

PREFETCH = "prefetch"


class Prefetched(TemporarilyUnavailable):
    """A browser fetched the page ahead."""

    noted = False
    summary = "The browser fetches ahead (`Sec-Purpose: prefetch`) what works once."

    def __init__(self) -> None:
        super().__init__(retry_after=1)


def is_prefetch(request: Request) -> bool:
    """Whether a browser sends ``request`` ahead of its user."""
    purposes = (request.headers.get("Sec-Purpose", ""), request.headers.get("Purpose", ""))
    return any(PREFETCH in text.lower().replace(";", " ").split() for text in purposes)


@view_options("spends")
def prefetch_deriver(view: View, info: IViewDeriverInfo) -> View:
    """View deriver for the option ``spends=True`` of a GET view that spends or counts something.

    It raises `Prefetched` for what was only fetched ahead, before anything is read.
    """
    if not info.options.get("spends") or not is_own_view(info):
        return view

    def view_for_users(context: object, request: Request) -> Response:
        if request.method in SAFE_METHODS and is_prefetch(request):
            raise Prefetched
        return view(context, request)

    return view_for_users
