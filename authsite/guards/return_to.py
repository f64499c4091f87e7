"""Where a login leads back to: a path of ours, or an origin that is listed; never elsewhere."""

import re
from typing import Any
from urllib.parse import urlsplit

MAX_LENGTH = 2048
# One slash, then neither slash nor backslash: browsers read `//` and `/\` as another host. No
# control characters, which browsers drop before they look; no backslash; what is not ASCII must
# come percent-encoded, as browsers send it.
_LOCAL = re.compile(r"/(?!/)[!-\[\]-~]*")


def local_path(target: str | None) -> str | None:
    """``target`` if it is a path on our own host, else None."""
    if not target or len(target) > MAX_LENGTH or not _LOCAL.fullmatch(target):
        return None
    try:
        parts = urlsplit(target)
    except ValueError:
        return None
    return None if parts.scheme or parts.netloc else target


def return_target(request: Any, target: str | None) -> str | None:
    """``target`` if a login may lead there: a local path, or a URL in `return-origins`."""
    local = local_path(target)
    if local or not target or len(target) > MAX_LENGTH:
        return local
    try:
        parts = urlsplit(target)
    except ValueError:
        return None
    plain = target.isascii() and target.isprintable() and not re.search(r"[\\\s]", target)
    origin = f"{parts.scheme}://{parts.netloc}"
    return target if plain and origin in request.cfg.return_origins else None
