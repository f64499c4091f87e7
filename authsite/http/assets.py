"""Static files at URLs that change with their content; clients cache them for a year.

The fingerprint is a folder of the URL and covers all files. So a stylesheet or script can refer to
other files by relative URLs, and these have the same lifetime. docs/architecture.md says why this
is not Pyramid's static view.
"""

import mimetypes
from collections.abc import Mapping
from html import escape
from pathlib import Path

from pyramid.config import Configurator
from pyramid.registry import Registry
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.colors import ACCENT, readable_on
from authsite.request_state import Request
from authsite.settings import Settings

from .address import route_path
from .brand import brand_css
from .cached_response import Assets, CachedResponse, fingerprint, respond_from_cache
from .errors import NotFound

FOLDER = Path(__file__).parent.parent / "static"
# In this order one stylesheet: authsite.css.
STYLES = ("base", "forms", "page", "messages", "account", "lists")
ROUTE = "authsite.static"
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
    bodies = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    bodies.update(made)
    files = {name: CachedResponse(body, content_type(name)) for name, body in bodies.items()}
    names = [f"{name}={file.fingerprint}".encode() for name, file in files.items()]
    return Assets(files, fingerprint(*names))


def asset_path(request: Request, name: str) -> str:
    """The URL path of the static file ``name``; raises `LookupError` if there is none."""
    assets = _assets(request)
    if name not in assets.files:
        raise LookupError(f"no file {name} in {FOLDER}")
    return route_path(request, ROUTE, fingerprint=assets.fingerprint, name=name)


def serve(request: Request) -> Response:
    """Serve a static file from memory; the name in the URL never reaches the file system."""
    assets = _assets(request)
    file = assets.files.get(request.matchdict["name"])
    if file is None:
        raise NotFound
    current = request.matchdict["fingerprint"] == assets.fingerprint
    return respond_from_cache(request, file, ONE_YEAR if current else REVALIDATE)


def add_assets(config: Configurator) -> None:
    """Read the files and register their route and view."""
    config.registry["authsite.http"].assets = _load(config.registry)
    config.add_route(ROUTE, "/authsite/static/{fingerprint}/{name:.+}")
    config.add_view(
        serve, route_name=ROUTE, request_method="GET", permission=NO_PERMISSION_REQUIRED
    )


def _assets(request: Request) -> Assets:
    registry = request.registry
    if registry.settings.get("pyramid.reload_assets"):  # Pyramid's setting for development
        return _load(registry)
    assets: Assets = registry["authsite.http"].assets
    return assets


def _load(registry: Registry) -> Assets:
    cfg: Settings = registry["authsite"].settings
    brand = brand_css(cfg)
    styles = [(FOLDER / "styles" / f"{name}.css").read_bytes() for name in STYLES]
    made = {
        "docs.css": (FOLDER / "docs.css").read_bytes() + brand,
        "authsite.css": b"\n".join([*styles, brand]),
        "icon.svg": _letter_icon(cfg),
    }
    return load(FOLDER, made)


def _letter_icon(cfg: Settings) -> bytes:
    """The icon of a site without `site-icon`: the first letter of its name, as on its pages."""
    fill = cfg.accent_color or ACCENT
    letter = escape(cfg.site_name[0].upper())
    return _SVG.format(fill=fill, ink=readable_on(fill), letter=letter).encode()


def content_type(name: str) -> str:
    """The media type of a file, by its name."""
    types = {".js": "text/javascript", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
    guessed, _encoding = mimetypes.guess_type(name)
    return types.get(Path(name).suffix) or guessed or "application/octet-stream"
