"""The account pages: each is a list of sections.

A section is a template ``account/<name>.jinja2`` and a function that returns what it reads. The
routes of its forms begin with ``authsite.account.<name>``: GET leads to the section, and after a
mistake the page of the section is shown again.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyramid.response import Response
from pyramid.view import view_config

from authsite import clock
from authsite.account import activity
from authsite.guards.caller import caller_of
from authsite.guards.forms import form_view
from authsite.http.address import route_path
from authsite.http.rendering import found, see_other
from authsite.i18n import _
from authsite.request_state import Request
from authsite.users import agents

from . import sections

PAGE = "authsite:templates/account/page.jinja2"
ACTIVITY = "authsite:templates/account/all_activity.jinja2"
_PREFIX = "authsite."
_PAGE_NUMBER = re.compile(r"[1-9][0-9]{0,5}")


@dataclass(frozen=True, slots=True)
class AccountPage:
    """One page: its route (without ``authsite.``), its title, and its sections in their order."""

    route: str
    title: str
    sections: Mapping[str, Callable[[Request], dict[str, Any]]]


PAGES = (
    AccountPage(
        "account",
        _("Profile"),
        {
            "profile": sections.nothing,
            "email": sections.email,
            "language": sections.language,
            "export": sections.nothing,
            "delete": sections.deletion,
        },
    ),
    AccountPage(
        "account.security",
        _("Security"),
        {
            "password": sections.nothing,
            "sessions": sections.sessions,
            "activity": sections.latest_events,
        },
    ),
    AccountPage("account.access", _("Access tokens"), {"tokens": sections.tokens}),
)


def page_of(request: Request) -> AccountPage:
    """The page of the request: its own route, or the one that has the section of its form."""
    route = request.matched_route.name.removeprefix(_PREFIX)
    return next(page for page in PAGES if page.route == route or _section(request) in page.sections)


def _section(request: Request) -> str | None:
    """The section of a form's route; None for the route of a page."""
    parts = request.matched_route.name.split(".")
    return parts[2] if len(parts) > 2 else None


@view_config(route_name="authsite.account", request_method="GET", renderer=PAGE)
@view_config(route_name="authsite.account.security", request_method="GET", renderer=PAGE)
@view_config(route_name="authsite.account.access", request_method="GET", renderer=PAGE)
def show(request: Request) -> dict[str, Any]:
    """The values of a page, also when it is shown again after a mistake in one of its forms."""
    page = page_of(request)
    route = request.matched_route.name.removeprefix(_PREFIX)
    form = None if route == page.route else route.removeprefix("account.")
    values = _common(request, page) | {"which": form}
    for values_of in page.sections.values():
        values |= values_of(request)
    return values


@view_config(route_name="authsite.account.activity", request_method="GET", renderer=ACTIVITY)
def show_activity(request: Request) -> dict[str, Any]:
    """All events of the account, ``page`` after page."""
    number = _number(request.GET.get("page", ""))
    events, more = activity.list_page(
        request.authsite.ctx, caller_of(request).acting_user().id, number
    )
    page = next(page for page in PAGES if "activity" in page.sections)
    listed = {"events": events, "number": number, "more": more}
    return {**_common(request, page), **listed}


def _number(text: str) -> int:
    return min(int(text), activity.MAX_PAGES) if _PAGE_NUMBER.fullmatch(text) else 1


def _common(request: Request, page: AccountPage) -> dict[str, Any]:
    return {
        "user": caller_of(request).acting_user(),
        "pages": PAGES,
        "page_shown": page,
        "now": clock.now(),
        "program": agents.describe,
        "by_day": activity.by_day,
        "done": request.GET.get("done"),
    }


def to_section(request: Request) -> Response:
    """Redirect the path of a form to its section.

    The path is in the address bar after an error, and a login leads back to it.
    """
    target = _PREFIX + page_of(request).route
    return found(request, route_path(request, target, _anchor=_section(request)))


# With ``get``, a function of the same module that calls `to_section`: venusian registers a view
# only in the module that defines it.
account_form = partial(form_view, show=show, renderer=PAGE)


def back(request: Request, done: str) -> Response:
    """Redirect to the page of the form, which says what was ``done``."""
    path = route_path(request, _PREFIX + page_of(request).route)
    return see_other(request, f"{path}?done={done}")
