"""The address of the login page, which may be a page of the host or of another origin."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlsplit

from pyramid.events import ApplicationCreated
from pyramid.interfaces import IRoutesMapper
from pyramid.registry import Registry

from authsite.platform.context import Services
from authsite.platform.http.address import absolute, route_path
from authsite.platform.http.request_facts import chosen_by_button, chosen_language
from authsite.platform.http.return_to import return_target, sent_next
from authsite.platform.registrations import Registered
from authsite.platform.request_state import Request
from authsite.platform.settings import InvalidSetting, SettingsError, documented_key

from .errors import InsufficientUserAuthentication

if TYPE_CHECKING:
    from pyramid.config import Configurator


def login_url(
    request: Request, next_url: str | None = None, *, unsaved: bool = False, prompt: bool = False
) -> str:
    """The URL of the login page in setting `login-page-url`, with ``next_url`` as ``next``.

    The setting is an absolute URL, the name of a route (the host's, or ours), or the path of a
    route or view. ``unsaved`` adds the notice that a form was not saved. A login page of another
    origin is then reached through a page of our own, since browsers apply the policy's
    ``form-action`` to redirects after a form. ``prompt`` makes the page show the form to a
    signed-in user, too (``prompt=login``, as in OpenID Connect Core 1.0, section 3.1.2.1).
    """
    target = _target(request, request.authsite.settings.login_page_url)
    if unsaved and is_elsewhere(request, target):
        target = route_path(request, "authsite.login.page")
    if next_url and is_elsewhere(request, target):
        next_url = absolute(request, next_url)  # on another origin a path is another page
    query = [f"next={quote(next_url, safe='/')}"] if next_url else []
    query += ["unsaved=1"] if unsaved else []
    query += ["prompt=login"] if prompt else []
    if not query:
        return target
    return f"{target}{'&' if urlsplit(target).query else '?'}{'&'.join(query)}"


def is_elsewhere(request: Request, url: str) -> bool:
    """Whether a path or URL belongs to another origin."""
    return not absolute(request, url).startswith(f"{request.authsite.address.origin}/")


def _target(request: Request, name: str) -> str:
    if "://" in name:
        return name
    route = _route_named(request.registry, name)
    return route_path(request, route) if route else f"{request.authsite.address.mount}/{name}"


def _route_named(registry: Registry, name: str) -> str | None:
    mapper = registry.getUtility(IRoutesMapper)
    routes = (name, f"authsite.{name}.page")
    return next((route for route in routes if mapper.get_route(route) is not None), None)


def check_login_page(event: ApplicationCreated) -> None:
    """At start-up: raise `SettingsError` if `login-page-url` names no route, path or view."""
    registry = event.app.registry
    name = registry["authsite"].settings.login_page_url
    if "://" in name or _route_named(registry, name) or _leads_to_view(registry, name):
        return
    advice = "no route has this name or path, and no view has this name; give one that exists"
    raise SettingsError(
        [InvalidSetting(documented_key("login_page_url"), advice, value=repr(name))]
    )


def _leads_to_view(registry: Registry, name: str) -> bool:
    """Whether a route has the path ``/name``, or a view that traversal finds has the name."""
    routes = registry.getUtility(IRoutesMapper).get_routes()
    if any(route.match(f"/{name}") is not None for route in routes):
        return True
    views = (item["introspectable"] for item in registry.introspector.get_category("views") or ())
    return any(view["name"] == name and not view["route_name"] for view in views)


# The address of the page on which a signed-in user proves again, or more, who they are.


ROUTE = "authsite.login.verify"
MAIL_ROUTE = f"{ROUTE}.mail"


def verify_url(
    request: Request,
    next_url: str | None,
    error: InsufficientUserAuthentication,
    *,
    unsaved: bool = False,
) -> str:
    """The path of the page, which leads to ``next_url`` and asks for what ``error`` says.

    ``unsaved`` adds the notice that a form was not saved.
    """
    query = {"next": next_url} if next_url else {}
    if error.acr_values:
        query["acr_values"] = error.acr_values
    if error.max_age is not None:
        query["max_age"] = str(int(error.max_age.total_seconds()))
    if unsaved:
        query["unsaved"] = "1"
    return route_path(request, ROUTE, _query=query)


# The path of the page that mails a link to confirm the e-mail address of a signed-in user.


def confirm_url(request: Request, next_url: str | None) -> str:
    """The path of the page that mails a link to confirm the address, and leads to ``next_url``."""
    query = {"next": next_url} if next_url else {}
    return route_path(request, "authsite.link.page", _query=query)


# What a sign-in leads to: the package whose page ``next`` is may tell it to the sign-in pages.


class Onward(NamedTuple):
    """The application that the user signs in to, and what it says about the user.

    ``application``: its name; None if no administrator has checked it.
    ``login_hint``: the login name to fill in. ``language``: one of those that are offered.
    ``wants_login``: it asks for a sign-in now; ``max_age``: for a proof that is at most this old,
    in seconds. A provider is asked for the same.
    """

    application: str | None
    login_hint: str | None = None
    language: str | None = None
    wants_login: bool = False
    max_age: int | None = None


Find = Callable[[Request, str], Onward | None]
ONWARD = Registered[Find]("finders of what a sign-in leads to")


def add_onward(config: "Configurator", find: Find) -> None:
    """Directive: ``find(request, next)`` tells what a sign-in leads to, or None."""
    ONWARD.add(config, find)


def find_onward(request: Request) -> Onward | None:
    """What the sign-in of this request leads to, if it is known."""
    target = request.authsite.next
    if target is None:
        return None
    finders = ONWARD.of(request.authsite.services).values()
    return next(filter(None, (find(request, target) for find in finders)), None)


def onward_of(request: Request) -> Onward | None:
    """`find_onward`, with its language as that of the page."""
    found = find_onward(request)
    if found:
        show_in(request, found.language)
    return found


def show_in(request: Request, language: str | None) -> None:
    """Show the page in ``language``, unless the person has chosen one."""
    if language and not (chosen_language(request) or chosen_by_button(request)):
        info = request.authsite.request_info
        request.authsite.request_info = replace(info, language=language)


# Where the page that signs out leads to: `next`, as a link of an application names it.


Allows = Callable[[Services, str], bool]
ORIGINS = Registered[Allows]("origins that a logout may lead to")


def add_logout_origins(config: "Configurator", allows: Allows) -> None:
    """Let a logout lead to the origins that ``allows(services, origin)`` accepts."""
    ORIGINS.add(config, allows)


def logout_target(request: Request) -> str | None:
    """``next`` of the form or the query: a local path, or a URL in `return-origins` or registered.

    None without one, and for any other: a link of a stranger must not lead on from our page.
    """
    services = request.authsite.services

    def is_registered(origin: str) -> bool:
        return any(allows(services, origin) for allows in ORIGINS.of(services).values())

    return return_target(request, sent_next(request), is_registered)
