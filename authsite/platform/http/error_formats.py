"""The route option ``errors``: the format of a route's errors.

An error before routing, and one of a path that has no route, has the format of the routes that are
above or beside the path.
"""

from collections.abc import Collection
from typing import Any, get_args

from pyramid.events import ApplicationCreated
from pyramid.exceptions import ConfigurationError
from pyramid.interfaces import IRoute, IRoutesMapper

from authsite.platform.request_state import Request

from .application import HttpApplication
from .errors import ErrorFormat
from .own_routes import is_own


class ErrorsOption:
    """The option ``errors`` of a route: "json", "oauth" or "html", which is the default."""

    def __init__(self, value: object, _config: object) -> None:
        if value not in get_args(ErrorFormat):
            formats = ", ".join(map(repr, get_args(ErrorFormat)))
            raise ConfigurationError(f"errors={value!r} on a route: give one of {formats}")
        self.value: ErrorFormat = value  # type: ignore[assignment]  # checked above

    def text(self) -> str:
        """What Pyramid shows of it."""
        return f"errors = {self.value}"

    phash = text
    name = "errors"

    def __call__(self, _info: object, _request: Request) -> bool:
        """An option, which matches every request."""
        return True


def stated_format(route: IRoute) -> ErrorFormat | None:
    """The format that a route states; None if it states none."""
    stated = (each.value for each in route.predicates if isinstance(each, ErrorsOption))
    return next(stated, None)


def collect_formats(event: ApplicationCreated) -> None:
    """At start-up: collect the formats that routes state, and those of paths and their folders.

    Only own routes count for paths. A folder whose routes differ has "html", but "json" if none of
    them is a page: programs ask there.
    """
    registry = event.app.registry
    http: HttpApplication = registry["authsite.http"]
    paths: dict[str, ErrorFormat] = {}
    folders: dict[str, set[ErrorFormat]] = {}
    for route in registry.getUtility(IRoutesMapper).get_routes():
        format_ = stated_format(route)
        if format_:
            http.route_formats[route.name] = format_
        if is_own(route.name):
            stated, whole = format_ or "html", f"/{route.pattern.strip('/')}"
            folder, _, name = whole.partition("{")[0].rpartition("/")
            folders.setdefault(folder, set()).add(stated)
            if name:
                paths[whole] = stated
    formats = {folder: _common(stated) for folder, stated in folders.items()}
    http.error_formats = {**formats, **paths}


def _common(stated: Collection[ErrorFormat]) -> ErrorFormat:
    first, *others = stated
    if others:
        return "html" if "html" in stated else "json"
    return first


def error_format(request: Request) -> ErrorFormat:
    """``request.authsite.error_format``: the format of the errors of ``request``."""
    http: HttpApplication = request.registry["authsite.http"]
    route: Any = getattr(request, "matched_route", None)
    if route is not None and (stated := http.route_formats.get(route.name)):
        return stated
    try:
        path = request.path_info
    except UnicodeDecodeError:
        path = request.environ["PATH_INFO"]
    return format_below(http.error_formats, path)


def format_below(formats: dict[str, ErrorFormat], path: str) -> ErrorFormat:
    """The format of the longest path in ``formats`` that is ``path`` or above it."""
    longest = max(map(len, formats), default=0)
    if len(path) > longest:  # so that the time does not depend on what a caller sends
        path = path[: longest + 1].rpartition("/")[0]
    while path and path not in formats:
        path = path.rpartition("/")[0]
    return formats.get(path, "html")
