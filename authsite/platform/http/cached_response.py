"""Responses with a constant body: compressed once, with validators for client caches."""

import gzip
import hashlib
import mimetypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pyramid.config import Configurator
from pyramid.registry import Registry
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from authsite.platform.request_state import Request

from .api_metadata import ResponseHeader
from .errors import NotFound

FIVE_MINUTES = "public, max-age=300"
# The headers of `respond_from_cache`, for an `Operation`.
CACHED = {
    "Cache-Control": ResponseHeader("Caches may store the response.", FIVE_MINUTES),
    "ETag": ResponseHeader("The validator, for `If-None-Match`.", '"5f0c1b7d2e9a48c36b1d"'),
    "Content-Encoding": ResponseHeader("If the client accepts it.", "gzip", always=False),
    "Vary": ResponseHeader("What the response depends on.", "Accept-Encoding", always=False),
}
# The same of one of `headers.PUBLIC_ROUTES`.
PUBLIC = {
    **CACHED,
    "Access-Control-Allow-Origin": ResponseHeader("Scripts of every origin may read it.", "*"),
}

_COMPRESSIBLE = ("text/", "application/json", "application/javascript", "image/svg+xml")

_ONE_PACKET = 1400  # bytes; a shorter body gains nothing by compression
_MAX_HEADER = 1000  # characters; browsers send about 50


@dataclass(frozen=True)
class CachedResponse:
    """A constant body, with what is computed from it when it is first needed."""

    body: bytes
    content_type: str

    @cached_property
    def gzipped(self) -> bytes | None:
        """The compressed body; None for a short one, or if compression does not make it shorter."""
        if len(self.body) < _ONE_PACKET or not self.content_type.startswith(_COMPRESSIBLE):
            return None
        packed = gzip.compress(self.body, mtime=0)
        return packed if len(packed) < len(self.body) else None

    @cached_property
    def fingerprint(self) -> str:
        """The `fingerprint` of the body."""
        return fingerprint(self.body)


def cached_files(files: Mapping[str, bytes]) -> Mapping[str, CachedResponse]:
    """A response for each of the ``files``, by name."""
    return {name: CachedResponse(body, content_type(name)) for name, body in files.items()}


def content_type(name: str) -> str:
    """The media type of a file, by its name."""
    types = {".js": "text/javascript", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
    guessed, _encoding = mimetypes.guess_type(name)
    return types.get(Path(name).suffix) or guessed or "application/octet-stream"


def add_files(config: Configurator, route: str, path: str, view: Callable[..., Response]) -> None:
    """Register ``view``, which serves files, below ``path``; their ``name`` ends the URL."""
    config.add_route(route, path + "{name:.+}")
    config.add_view(view, route_name=route, request_method="GET", permission=NO_PERMISSION_REQUIRED)


def reloads(registry: Registry) -> bool:
    """Whether files are read at each request: Pyramid's setting for development."""
    return bool(registry.settings.get("pyramid.reload_assets"))


def respond_with_file(
    request: Request, files: Mapping[str, CachedResponse], cache_control: str
) -> Response:
    """Respond with the file of the URL's ``name``, which never reaches the file system.

    Raises `NotFound`.
    """
    file = files.get(request.matchdict["name"])
    if file is None:
        raise NotFound
    return respond_from_cache(request, file, cache_control)


def fingerprint(*parts: bytes) -> str:
    """The first 20 hexadecimal digits of a SHA-256 over ``parts``."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()[:20]


def respond_from_cache(request: Request, cached: CachedResponse, cache_control: str) -> Response:
    """Respond with ``cached``, compressed if the client accepts gzip.

    The status is 304 if the client already has the body. The plain and the compressed body have
    different strong validators (RFC 9110, section 8.8.1).
    """
    compress = cached.gzipped is not None and _accepts_gzip(request)
    response = Response(
        body=cached.gzipped if compress else cached.body,
        content_type=cached.content_type,
        charset="utf-8" if cached.content_type.startswith("text/") else None,
        # For a Range header WebOb would send parts, or raise an error for some malformed values.
        conditional_response=_is_short(request, "If-None-Match") and "Range" not in request.headers,
    )
    response.etag = f"{cached.fingerprint}-gzip" if compress else cached.fingerprint
    response.headers["Cache-Control"] = cache_control
    if compress:
        response.content_encoding = "gzip"
    if cached.gzipped is not None:
        response.vary = ["Accept-Encoding"]
    return response


def _accepts_gzip(request: Request) -> bool:
    # RFC 9110 allows gzip without Accept-Encoding, but a client without it may not support gzip.
    return _is_short(request, "Accept-Encoding") and bool(
        request.accept_encoding and request.accept_encoding.acceptable_offers(["gzip"])
    )


def _is_short(request: Request, header: str) -> bool:
    """Whether ``header`` is short enough to parse; WebOb takes milliseconds for a long one."""
    return len(request.headers.get(header, "")) <= _MAX_HEADER


@dataclass(frozen=True, slots=True)
class Assets:
    """The files of a folder by relative path, and the fingerprint of all of them."""

    files: Mapping[str, CachedResponse]
    fingerprint: str
