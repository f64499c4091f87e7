"""The site's own files (setting `static-folder`), and the URLs of settings that may name one.

The files are read once, when the application is made: the name in a URL never reaches the file
system. So there are no listings, hidden files, symbolic links and ``..``.
"""

from collections.abc import Mapping
from html import escape
from pathlib import Path
from urllib.parse import quote, urljoin

from pyramid.config import Configurator
from pyramid.registry import Registry
from pyramid.response import Response

from authsite.platform.request_state import Request
from authsite.platform.runtime import package
from authsite.platform.runtime.colors import ACCENT, accent_css, readable_on
from authsite.platform.settings import Settings, files_of, is_file_name

from .address import route_path
from .cached_response import (
    FIVE_MINUTES,
    Assets,
    CachedResponse,
    add_files,
    cached_files,
    fingerprint,
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


# Static files at URLs that change with their content; clients cache them for a year.
#
# The fingerprint is a folder of the URL and covers all files. So a stylesheet or script can refer
# to other files by relative URLs, and these have the same lifetime. docs/architecture.md says why
# this is not Pyramid's static view.


FOLDER = package.FOLDER / "static"
# In this order one stylesheet: authsite.css.
STYLES = (
    "base",
    "forms",
    "page",
    "messages",
    "account",
    "lists",
    "providers",
    "applications",
    "factors",
    "admin",
)
ASSETS_ROUTE = "authsite.static"
ONE_YEAR = "public, max-age=31536000, immutable"
# For a URL with the fingerprint of another release: the content may change.
REVALIDATE = "public, no-cache"
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
    '<rect width="32" height="32" rx="8" fill="{fill}"/>'
    '<text x="16" y="23" fill="{ink}" font-family="system-ui, sans-serif" font-size="20"'
    ' font-weight="600" text-anchor="middle">{letter}</text></svg>\n'
)


def load(folder: Path, made: Mapping[str, bytes]) -> Assets:
    """Every file below ``folder``, by name; those in ``made`` are added or replace others."""
    bodies = {name: path.read_bytes() for name, path in files_of(str(folder)).items()}
    files = cached_files(bodies | dict(made))
    names = [f"{name}={file.fingerprint}".encode() for name, file in files.items()]
    return Assets(files, fingerprint(*names))


def asset_path(request: Request, name: str) -> str:
    """The URL path of the static file ``name``; raises `LookupError` if there is none."""
    assets = _assets(request)
    if name not in assets.files:
        raise LookupError(f"no file {name} in {FOLDER}")
    return route_path(request, ASSETS_ROUTE, fingerprint=assets.fingerprint, name=name)


def serve_asset(request: Request) -> Response:
    """Serve a static file from memory."""
    assets = _assets(request)
    current = request.matchdict["fingerprint"] == assets.fingerprint
    return respond_with_file(request, assets.files, ONE_YEAR if current else REVALIDATE)


def add_assets(config: Configurator) -> None:
    """Read the files and register their route and view."""
    config.registry["authsite.http"].assets = _assets_load(config.registry)
    add_files(config, ASSETS_ROUTE, "/authsite/static/{fingerprint}/", serve_asset)


def _assets(request: Request) -> Assets:
    registry = request.registry
    if reloads(registry):
        return _assets_load(registry)
    assets: Assets = registry["authsite.http"].assets
    return assets


def _assets_load(registry: Registry) -> Assets:
    cfg: Settings = registry["authsite"].settings
    brand = _brand_css(cfg)
    styles = [(FOLDER / "styles" / f"{name}.css").read_bytes() for name in STYLES]
    made = {
        "docs.css": (FOLDER / "docs.css").read_bytes() + brand,
        "authsite.css": b"\n".join([*styles, brand]),
        "icon.svg": _letter_icon(cfg),
    }
    return load(FOLDER, made)


def _brand_css(cfg: Settings) -> bytes:
    """What `accent-color`, `font` and `corner-radius` add to ``authsite.css`` and ``docs.css``.

    It is in the files, since the Content-Security-Policy forbids inline styles. The parsers of the
    settings leave nothing in a value that could end the declaration.
    """
    properties = {"--font": cfg.font, "--radius": cfg.corner_radius}
    declared = ";".join(f"{name}:{value}" for name, value in properties.items() if value)
    own = f":root{{{declared}}}\n" if declared else ""
    return own.encode() + accent_css(cfg.accent_color)


def _letter_icon(cfg: Settings) -> bytes:
    """The icon of a site without `site-icon`: the first letter of its name, as on its pages."""
    fill = cfg.accent_color or ACCENT
    letter = escape(cfg.site_name[0].upper())
    return _SVG.format(fill=fill, ink=readable_on(fill), letter=letter).encode()
