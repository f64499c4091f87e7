"""405 for a known path with another method, before any guard asks who is calling."""

from typing import Any

from .errors import MethodNotAllowed


def allowed_methods(registry: Any) -> dict[str, tuple[str, ...]]:
    """Route name -> the methods that its views state, for our own routes."""
    methods: dict[str, set[str]] = {}
    for item in registry.introspector.get_category("views") or ():
        view = item["introspectable"]
        route, stated = view["route_name"], view["request_methods"]
        if route and route.startswith("authsite.") and stated:
            stated = (stated,) if isinstance(stated, str) else tuple(stated)
            methods.setdefault(route, set()).update(stated)
    return {
        route: tuple(sorted(names | ({"HEAD"} if "GET" in names else set())))
        for route, names in methods.items()
    }


def remember_methods(event: Any) -> None:
    """On start: read the table of methods off the views."""
    registry = event.app.registry
    registry["authsite.methods"] = allowed_methods(registry)


def refuse_other_methods(event: Any) -> None:
    """On every matched route of ours: raise `MethodNotAllowed` unless a view has the method."""
    request = event.request
    route = request.matched_route
    allowed = route and request.registry["authsite.methods"].get(route.name)
    if allowed and request.method not in allowed:
        raise MethodNotAllowed(allowed)
