"""The views of the account pages, and the page with all events."""

import re
from typing import Any

from pyramid.view import view_config

from authsite.account import activity
from authsite.platform.request_state import Request
from authsite.users.account_pages import PAGE, common_values, page_of, show
from authsite.users.caller import caller_of

ACTIVITY = "authsite:templates/account/all_activity.jinja2"
_PAGE_NUMBER = re.compile(r"[1-9][0-9]{0,5}")


@view_config(route_name="authsite.account", request_method="GET", renderer=PAGE)
@view_config(route_name="authsite.account.security", request_method="GET", renderer=PAGE)
@view_config(route_name="authsite.account.access", request_method="GET", renderer=PAGE)
def show_page(request: Request) -> dict[str, Any]:
    """An account page."""
    return show(request)


@view_config(route_name="authsite.account.activity", request_method="GET", renderer=ACTIVITY)
def show_activity(request: Request) -> dict[str, Any]:
    """All events of the account, ``page`` after page."""
    number = _number(request.GET.get("page", ""))
    events, more = activity.list_page(
        request.authsite.ctx, caller_of(request).acting_user().id, number
    )
    listed = {"events": events, "number": number, "more": more, "by_day": activity.by_day}
    return {**common_values(request, page_of(request)), **listed}


def _number(text: str) -> int:
    return min(int(text), activity.MAX_PAGES) if _PAGE_NUMBER.fullmatch(text) else 1
