"""Bytes that are the same for everyone, kept ready: as they are, compressed, fingerprinted."""

import gzip
import hashlib
from dataclasses import dataclass
from typing import Any

from pyramid.response import Response

_COMPRESSIBLE = ("text/", "application/json", "application/javascript", "image/svg+xml")


@dataclass(frozen=True, slots=True)
class Kept:
    """A body, its content type, its gzip form (None if that saves nothing) and its hash."""

    body: bytes
    content_type: str
    gzipped: bytes | None
    fingerprint: str


def keep(body: bytes, content_type: str) -> Kept:
    """``body``, ready to be answered many times."""
    gzipped = None
    if content_type.startswith(_COMPRESSIBLE):
        packed = gzip.compress(body, mtime=0)
        gzipped = packed if len(packed) < len(body) else None
    return Kept(body, content_type, gzipped, fingerprint(body))


def fingerprint(*parts: bytes) -> str:
    """A short name for exactly these bytes: the beginning of their SHA-256."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()[:20]


def answer(request: Any, kept: Kept, cache_control: str) -> Response:
    """The answer with ``kept``: compressed for who takes that, 304 for who has it already.

    Strong validators (RFC 9110, section 8.8.1) differ for the two forms.
    """
    # A request without Accept-Encoding takes anything by the letter; only the plain form is safe.
    zipped = kept.gzipped is not None and bool(
        request.accept_encoding and request.accept_encoding.acceptable_offers(["gzip"])
    )
    response = Response(
        body=kept.gzipped if zipped else kept.body,
        content_type=kept.content_type,
        charset="utf-8" if kept.content_type.startswith("text/") else None,
        conditional_response=True,
    )
    response.etag = f"{kept.fingerprint}-gzip" if zipped else kept.fingerprint
    response.headers["Cache-Control"] = cache_control
    if zipped:
        response.content_encoding = "gzip"
    if kept.gzipped is not None:
        response.vary = ["Accept-Encoding"]
    return response
