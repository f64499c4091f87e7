"""Which routes, views and requests are authsite's own; the others are the host application's."""

from pyramid.interfaces import IViewDeriverInfo

from authsite.platform.request_state import Request


def is_own(route_name: str | None) -> bool:
    """Whether a route is authsite's, by its name."""
    return (route_name or "").startswith("authsite.")


def is_own_view(info: IViewDeriverInfo) -> bool:
    """Whether a view is authsite's: view options such as ``body`` mean nothing on a host's view."""
    standalone = info.registry["authsite.http"].standalone
    return standalone or is_own(info.options.get("route_name"))


def is_own_request(request: Request) -> bool:
    """Whether authsite responds to ``request``, and not the host application."""
    if request.registry["authsite.http"].standalone:
        return True
    route = getattr(request, "matched_route", None)
    return route is not None and is_own(route.name)


def is_forward_auth(request: Request) -> bool:
    """Whether a reverse proxy asks (forward auth).

    Any 2xx response lets the original request pass, and the proxy may copy the headers of others to
    a client of another host.
    """
    route = getattr(request, "matched_route", None)
    return route is not None and route.name.startswith("authsite.guard.")
