"""Which endpoints there are, read off the routes and views themselves."""

import inspect
import re
import sys
from dataclasses import dataclass
from typing import Any

from pyramid.interfaces import IRoutesMapper

from authsite.guards.policy import Rules, rules_of
from authsite.http.answers import Answers, stated_by
from authsite.http.bodies import Body
from authsite.http.error_bodies import style_of

# {name} or {name:regex} in a route's pattern.
_PLACEHOLDER = re.compile(r"\{(\w+)(?::(?:[^{}]|\{[^{}]*\})*)?\}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one route, with everything that its route and view state."""

    name: str  # of the route, without "authsite."
    method: str
    path: str  # with {name} for each parameter
    view: Any
    body: type[Body] | None
    options: dict[str, Any]  # of the view
    rules: Rules
    answers: Answers
    style: str  # of its errors: oauth, house or page

    @property
    def parameters(self) -> list[str]:
        """The names of the path's parameters."""
        return re.findall(r"\{(\w+)\}", self.path)

    @property
    def operation_id(self) -> str:
        """Unique in the document, and stable as long as the route keeps its name."""
        return f"{self.method.lower()}_{self.name.replace('.', '_')}"

    @property
    def room(self) -> tuple[str, str]:
        """What the view's room and its door say of themselves: a title and a sentence."""
        module = inspect.getmodule(self.view)
        package = sys.modules[module.__package__] if module and module.__package__ else module
        return _first_words(inspect.getdoc(package)), _one_line(inspect.getdoc(module))

    @property
    def words(self) -> tuple[str, str]:
        """The view's docstring: its first sentence without the full stop, and the rest."""
        summary, _, rest = (inspect.getdoc(self.view) or "").partition("\n\n")
        first, _, second = _one_line(summary).partition(". ")
        return first.removesuffix("."), "\n\n".join(part for part in (second, rest) if part)


def endpoints(registry: Any) -> list[Endpoint]:
    """The endpoints of the API in the order of their routes: our own, under /v1 or described.

    Pages are not among them, nor are the routes of an application around this one.
    """
    views: dict[str, list[Any]] = {}
    for item in registry.introspector.get_category("views") or ():
        view = item["introspectable"]
        if view["route_name"] and view["request_methods"]:
            views.setdefault(view["route_name"], []).append(view)
    found = [
        _endpoint(registry, route, view, method)
        for route in registry.getUtility(IRoutesMapper).get_routes()
        if route.name.startswith("authsite.")
        for view in views.get(route.name, ())
        for method in _methods(view)
    ]
    return [each for each in found if each.style != "page" or each.answers.bodies]


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
        answers=stated_by(view["callable"]),
        style=style_of(path.removeprefix(registry["authsite.prefix"])),
    )


def _methods(view: Any) -> list[str]:
    stated = view["request_methods"]
    return [stated] if isinstance(stated, str) else [name for name in stated if name != "HEAD"]


def _first_words(text: str | None) -> str:
    return re.split(r"[:.](?:\s|$)", _one_line(text), maxsplit=1)[0]


def _one_line(text: str | None) -> str:
    return " ".join((text or "").partition("\n\n")[0].split())
