"""The endpoints of the API, as the routes and views declare them."""

import re
import sys
from dataclasses import dataclass
from typing import Any

from pyramid.interfaces import IRoutesMapper

from authsite.guards.route_options import Rules, rules_of
from authsite.platform.http.api_metadata import Operation, Tag, operation_of
from authsite.platform.http.bodies import Body
from authsite.platform.http.error_bodies import stated_format
from authsite.platform.http.errors import ErrorFormat
from authsite.platform.http.own_routes import is_own

# {name} or {name:regex} in a route's pattern.
_PLACEHOLDER = re.compile(r"\{(\w+)(?::(?:[^{}]|\{[^{}]*\})*)?\}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one route, with what the route and the view declare."""

    name: str  # of the route, without "authsite."
    method: str
    path: str  # with {name} for each parameter
    view: Any
    body: type[Body] | None
    options: dict[str, Any]  # of the view
    rules: Rules
    operation: Operation
    error_format: ErrorFormat

    @property
    def parameters(self) -> list[str]:
        """The names of the path's parameters."""
        return re.findall(r"\{(\w+)\}", self.path)

    @property
    def operation_id(self) -> str:
        """Unique in the document, and stable as long as the route keeps its name."""
        return f"{self.method.lower()}_{self.name.replace('.', '_')}"

    @property
    def tag(self) -> Tag:
        """The ``API_TAG`` of the innermost package with one that has the view."""
        package: str = self.view.__module__.rpartition(".")[0]
        while not hasattr(sys.modules[package], "API_TAG"):
            package = package.rpartition(".")[0]
        tag: Tag = sys.modules[package].API_TAG
        return tag


def endpoints(registry: Any) -> list[Endpoint]:
    """The endpoints of authsite's API in the order of their routes, without those of a host.

    A view outside /v1 belongs to the API if it has an `Operation`; pages have none. Of two paths
    that differ by a slash at the end, the one with the slash is listed.
    """
    views: dict[str, list[Any]] = {}
    for item in registry.introspector.get_category("views") or ():
        view = item["introspectable"]
        if view["route_name"] and view["request_methods"]:
            views.setdefault(view["route_name"], []).append(view)
    found = [
        _endpoint(registry, route, view, method)
        for route in registry.getUtility(IRoutesMapper).get_routes()
        if is_own(route.name)
        for view in views.get(route.name, ())
        for method in _methods(view)
    ]
    shown = [each for each in found if each.error_format != "html" or each.operation.responses]
    paths = {(each.view, each.path) for each in shown}
    return [each for each in shown if (each.view, f"{each.path}/") not in paths]


def _endpoint(registry: Any, route: Any, view: Any, method: str) -> Endpoint:
    # Below a prefix Pyramid's patterns have no slash at the beginning.
    path = "/" + _PLACEHOLDER.sub(r"{\1}", route.pattern).lstrip("/")
    return Endpoint(
        name=route.name.removeprefix("authsite."),
        method=method,
        path=path,
        view=view["callable"],
        body=view.get("body"),
        options=dict(view),
        rules=rules_of(route),
        operation=operation_of(view["callable"]),
        error_format=stated_format(route) or "html",
    )


def _methods(view: Any) -> list[str]:
    methods = view["request_methods"]
    return [methods] if isinstance(methods, str) else [name for name in methods if name != "HEAD"]
