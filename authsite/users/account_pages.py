"""The account pages: each is a list of sections, which packages register.

The routes of the forms of a section begin with ``authsite.account.<id>``: GET leads to the section,
and after a mistake the page of the section is shown again.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pyramid.response import Response

from authsite.platform.http.address import route_path
from authsite.platform.http.forms import form_view
from authsite.platform.http.rendering import found, see_other
from authsite.platform.registrations import Registered
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock

from . import account
from .caller import caller_of

if TYPE_CHECKING:
    from pyramid.config import Configurator

PAGE = "authsite:templates/account/page.jinja2"
_PREFIX = "authsite."


class AccountSection(NamedTuple):
    """What ``config.add_account_section`` registers."""

    id: str
    template: str
    """It shows the section. Besides its own values it has those of account/layout.jinja2."""
    page: str
    """The route of a page that ``config.add_account_page`` registers."""
    values: Callable[[Request], dict[str, Any]] = lambda _request: {}
    """Returns what the template reads."""
    deleted: str | None = None
    """A template with what of the section is deleted with the account; it reads ``values``."""
    after: str | None = None
    """The section of the same page below which it is shown; by default it is the last one."""


ACCOUNT_PAGES = Registered[str]("account pages")
"""The title of each page, by its route (without ``authsite.``)."""
ACCOUNT_SECTIONS = Registered[AccountSection]("sections of the account pages")


class AccountPage(NamedTuple):
    """One page: its route (without ``authsite.``), its title, and its sections."""

    route: str
    title: str
    sections: tuple[AccountSection, ...]


def add_account_page(config: "Configurator", route: str, title: str) -> None:
    """Directive: a page of sections, the last one so far in the navigation of the account.

    ``route``: its name without ``authsite.``; its view is `show` under `PAGE`.
    """
    ACCOUNT_PAGES.add(config, title, route)


def add_account_section(config: "Configurator", section: AccountSection) -> None:
    """Directive: show ``section`` on its account page, below those that were registered before."""
    ACCOUNT_SECTIONS.add(config, section, section.id)


def page_of(request: Request) -> AccountPage:
    """The page of the request: its own route, or the one that has the section of its form."""
    route = request.matched_route.name.removeprefix(_PREFIX)
    sections = ACCOUNT_SECTIONS.of(request.authsite.services)
    section = sections.get(section_id(request) or "")
    return _page(request, section.page if section else route)


def section_id(request: Request) -> str | None:
    """The section of a form's route; None for the route of a page."""
    parts = request.matched_route.name.split(".")
    return parts[2] if len(parts) > 2 else None


def _page(request: Request, route: str) -> AccountPage:
    sections = ACCOUNT_SECTIONS.of(request.authsite.services).values()
    shown: list[AccountSection] = []
    for each in sections:
        if each.page == route:
            ids = [item.id for item in shown]
            shown.insert(ids.index(each.after) + 1 if each.after else len(shown), each)
    return AccountPage(route, ACCOUNT_PAGES.of(request.authsite.services)[route], tuple(shown))


def show(request: Request) -> dict[str, Any]:
    """The values of a page, also when it is shown again after a mistake in one of its forms."""
    page = page_of(request)
    route = request.matched_route.name.removeprefix(_PREFIX)
    form = None if route == page.route else route.removeprefix("account.")
    values = common_values(request, page) | {"which": form}
    for section in page.sections:
        values |= section.values(request)
    return values


def common_values(request: Request, page: AccountPage) -> dict[str, Any]:
    """The values of account/layout.jinja2."""
    return {
        "user": caller_of(request).acting_user(),
        "pages": [_page(request, route) for route in ACCOUNT_PAGES.of(request.authsite.services)],
        "page_shown": page,
        "now": clock.now(),
        "program": account.describe,
        "done": request.GET.get("done"),
    }


def values_of_deletion(request: Request) -> dict[str, Any]:
    """The sections of which something is deleted with the account, and their values."""
    sections = ACCOUNT_SECTIONS.of(request.authsite.services).values()
    concerned = [section for section in sections if section.deleted]
    values: dict[str, Any] = {"deleted_sections": concerned}
    for section in concerned:
        values |= section.values(request)
    return values


def to_section(request: Request) -> Response:
    """Redirect the path of a form to its section.

    The path is in the address bar after an error, and a login leads back to it.
    """
    target = _PREFIX + page_of(request).route
    return found(request, route_path(request, target, _anchor=section_id(request)))


account_form = partial(form_view, show=show, get=to_section, renderer=PAGE)
"""The `form_view` of a section's form."""


def back(request: Request, done: str) -> Response:
    """Redirect to the page of the form, which says what was ``done``."""
    path = route_path(request, _PREFIX + page_of(request).route)
    return see_other(request, f"{path}?done={done}")
