"""The address of the login page, which may be a page of the host or of another origin."""

from urllib.parse import quote, urlsplit

from pyramid.events import ApplicationCreated
from pyramid.interfaces import IRoutesMapper
from pyramid.registry import Registry

from authsite.platform.http.address import absolute, route_path
from authsite.platform.request_state import Request
from authsite.platform.settings import InvalidSetting, SettingsError, documented_key


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
