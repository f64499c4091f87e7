"""Stand-in."""

from collections.abc import Sequence
from urllib.parse import urlsplit


def matches(registered: str, sent: str, client_type: str) -> bool:
    """Whether they match."""
    return registered == sent


def nearest_difference(registered_uris: Sequence[str], sent: str) -> tuple[str, ...]:
    """The parts that differ from the nearest one."""
    parts = ("scheme", "netloc", "path", "query")

    def differing(uri: str) -> tuple[str, ...]:
        a, b = urlsplit(uri), urlsplit(sent)
        return tuple(p.replace("netloc", "host") for p in parts if getattr(a, p) != getattr(b, p))

    return min((differing(u) for u in registered_uris), key=len, default=())


def is_program(uri: str) -> bool:
    """Whether a registered URI leads to a program on this computer."""
    parts = urlsplit(uri)
    if parts.scheme == "https":
        return False
    return parts.scheme != "http" or parts.hostname in ("localhost", "127.0.0.1", "::1")
