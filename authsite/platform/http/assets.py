"""Static files at URLs that change with their content; clients cache them for a year.

The fingerprint is a folder of the URL and covers all files. So a stylesheet or script can refer to
other files by relative URLs, and these have the same lifetime. docs/architecture.md says why this
is not Pyramid's static view.
"""

from collections.abc import Mapping
from html import escape
from pathlib import Path

from pyramid.config import Configurator
from pyramid.registry import Registry
from pyramid.response import Response

from authsite.platform.request_state import Request
from authsite.platform.runtime import package
from authsite.platform.runtime.colors import ACCENT, accent_css, readable_on
from authsite.platform.settings import Settings, files_of

from .address import route_path
from .cached_response import (
    Assets,
    add_files,
    cached_files,
    fingerprint,
    reloads,
    respond_with_file,
)

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
    bodies = {name: path.read_bytes() for name, path in files_of(str(folder)).items()}
    files = cached_files(bodies | dict(made))
    names = [f"{name}={file.fingerprint}".encode() for name, file in files.items()]
    return Assets(files, fingerprint(*names))


def asset_path(request: Request, name: str) -> str:
    """The URL path of the static file ``name``; raises `LookupError` if there is none."""
    assets = _assets(request)
    if name not in assets.files:
        raise LookupError(f"no file {name} in {FOLDER}")
    return route_path(request, ROUTE, fingerprint=assets.fingerprint, name=name)


def serve(request: Request) -> Response:
    """Serve a static file from memory."""
    assets = _assets(request)
    current = request.matchdict["fingerprint"] == assets.fingerprint
    return respond_with_file(request, assets.files, ONE_YEAR if current else REVALIDATE)


def add_assets(config: Configurator) -> None:
    """Read the files and register their route and view."""
    config.registry["authsite.http"].assets = _load(config.registry)
    add_files(config, ROUTE, "/authsite/static/{fingerprint}/", serve)


def _assets(request: Request) -> Assets:
    registry = request.registry
    if reloads(registry):
        return _load(registry)
    assets: Assets = registry["authsite.http"].assets
    return assets


def _load(registry: Registry) -> Assets:
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
