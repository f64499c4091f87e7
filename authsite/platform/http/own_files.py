"""The site's own files (setting `static-folder`), and the URLs of settings that may name one.

The files are read once, when the application is made: the name in a URL never reaches the file
system. So there are no listings, hidden files, symbolic links and ``..``.
"""

from collections.abc import Mapping
from urllib.parse import quote, urljoin

from pyramid.config import Configurator
from pyramid.registry import Registry
from pyramid.response import Response

from authsite.platform.request_state import Request
from authsite.platform.settings import files_of, is_file_name

from .address import route_path
from .cached_response import (
    FIVE_MINUTES,
    CachedResponse,
    add_files,
    cached_files,
    reloads,
    respond_with_file,
)

ROUTE = "authsite.files"
PATH = "/authsite/files/"
HEADERS = {
    # No scripts, also not those in an SVG file that is opened by itself.
    "Content-Security-Policy": (
        "default-src 'none'; img-src 'self'; style-src 'self'; font-src 'self'; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    # Webmail shows the logo of our mails on a page with its own origin.
    "Cross-Origin-Resource-Policy": "cross-origin",
}


def add_own_files(config: Configurator) -> None:
    """Read the files, and register their route and view; nothing without `static-folder`."""
    if config.registry["authsite"].settings.static_folder is None:
        return
    config.registry["authsite.http"].own_files = _load(config.registry)
    add_files(config, ROUTE, PATH, serve)


def serve(request: Request) -> Response:
    """Serve a file from memory."""
    registry = request.registry
    files = _load(registry) if reloads(registry) else registry["authsite.http"].own_files
    response = respond_with_file(request, files, FIVE_MINUTES)
    response.headers.update(HEADERS)
    return response


def href(request: Request, place: str) -> str:
    """The URL of ``place``, the value of a setting: a URL, a path, or a file's name."""
    return route_path(request, ROUTE, name=place) if is_file_name(place) else place


def absolute_href(base_url: str, place: str) -> str:
    """The same for mails, which have no address."""
    if is_file_name(place):
        return f"{base_url}{PATH}{quote(place)}"
    return urljoin(base_url, place)


def _load(registry: Registry) -> Mapping[str, CachedResponse]:
    files = files_of(registry["authsite"].settings.static_folder)
    return cached_files({name: path.read_bytes() for name, path in files.items()})
