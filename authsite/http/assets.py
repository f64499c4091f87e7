"""Our own static files, at addresses that change with their content, cached for a year.

One fingerprint stands for the whole folder, so that a stylesheet or a script finds its
neighbours by a relative address, and those are cached as long. Not Pyramid's static view: that one
knows one lifetime for right and wrong addresses, and its usual name, static, is taken in most
applications that include this one.
"""

import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from .accent import accent_css
from .errors import NotFound
from .kept import Kept, answer, fingerprint, keep

FOLDER = Path(__file__).parent.parent / "static"
ROUTE = "authsite.static"
FOREVER = "public, max-age=31536000, immutable"
# Another release's address, or none of ours: right for now, asked for again next time.
ASK_AGAIN = "public, no-cache"


@dataclass(frozen=True, slots=True)
class Assets:
    """The files of a folder by their relative path, and the fingerprint of them all."""

    files: Mapping[str, Kept]
    fingerprint: str


def load(folder: Path, added: Mapping[str, bytes] = MappingProxyType({})) -> Assets:
    """Every file below ``folder``, with what is ``added`` to its end, read and compressed now."""
    paths = {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    files = {
        name: keep(path.read_bytes() + added.get(name, b""), _content_type(name))
        for name, path in paths.items()
    }
    names = [f"{name}={kept.fingerprint}".encode() for name, kept in files.items()]
    return Assets(files, fingerprint(*names))


def asset_path(request: Any, name: str) -> str:
    """The path of the static file ``name``; raises LookupError when there is none."""
    assets = _assets(request)
    if name not in assets.files:
        raise LookupError(f"no file {name} in {FOLDER}")
    path: str = request.route_path(ROUTE, fingerprint=assets.fingerprint, name=name)
    return path


def serve(request: Any) -> Response:
    """A static file. Names are looked up among those read at start, never in the file system."""
    assets = _assets(request)
    kept = assets.files.get(request.matchdict["name"])
    if kept is None:
        raise NotFound
    current = request.matchdict["fingerprint"] == assets.fingerprint
    return answer(request, kept, FOREVER if current else ASK_AGAIN)


def add_assets(config: Any) -> None:
    """The route, its view and ``request.asset_path``."""
    config.registry["authsite.assets"] = _load(config.registry)
    config.add_route(ROUTE, "/authsite/static/{fingerprint}/{name:.+}")
    config.add_view(
        serve, route_name=ROUTE, request_method="GET", permission=NO_PERMISSION_REQUIRED
    )
    config.add_request_method(asset_path)


def _assets(request: Any) -> Assets:
    registry = request.registry
    if registry.settings.get("pyramid.reload_assets"):  # while somebody writes a stylesheet
        return _load(registry)
    assets: Assets = registry["authsite.assets"]
    return assets


def _load(registry: Any) -> Assets:
    colour = registry["authsite.settings"].accent_color
    return load(FOLDER, dict.fromkeys(("authsite.css", "docs.css"), accent_css(colour)))


def _content_type(name: str) -> str:
    known = {".js": "text/javascript", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
    guessed, _encoding = mimetypes.guess_type(name)
    return known.get(Path(name).suffix) or guessed or "application/octet-stream"
