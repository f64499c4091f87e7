"""When two URIs are those of one resource (RFC 8707), as authsite itself compares them."""

import re
from collections.abc import Iterable

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*+)([^?#]*+)(.*)")


def is_among(uri: str, audience: Iterable[str]) -> bool:
    """Whether ``uri`` is in the audience: without case in scheme and host, an empty path is `/`.

    Libraries write `https://mcp.example.com` and `https://mcp.example.com/` for each other.
    """
    return uri in audience or _comparable(uri) in map(_comparable, audience)


def _comparable(uri: str) -> str:
    found = _URI.fullmatch(uri)
    if found is None:
        return uri
    scheme, authority, path, rest = found.groups()
    return f"{scheme.lower()}://{authority.lower()}{path or '/'}{rest}"
