"""Where a request comes from: peer address, agent and request id, as plain values."""

import re
import secrets
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from authsite.i18n import negotiate

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
MAX_AGENT = 200  # characters


@dataclass(frozen=True, slots=True)
class Source:
    """What services and the audit trail know of a request.

    ``base_url`` and ``language`` are what the letters it causes are written with.
    """

    address: str | None = None
    agent: str | None = None
    request_id: str | None = None
    base_url: str = ""
    language: str = "en"


def request_id(request: Any) -> str:
    """The id of this request: a trusted proxy's ``X-Request-Id``, or a new one."""
    if request.through_trusted_proxy:
        given: str = request.headers.get("X-Request-Id", "")
        if _REQUEST_ID.fullmatch(given):
            return given
    return secrets.token_hex(12)


def source(request: Any) -> Source:
    """The `Source` of ``request``."""
    agent = request.headers.get("User-Agent", "")
    printable = "".join(char for char in agent[:MAX_AGENT] if char.isprintable())
    return Source(
        request.client_address,
        printable or None,
        request.id,
        request.base_url,
        negotiate(request.headers.get("Accept-Language")),
    )


def peer(request: Any) -> str | None:
    """The canonical address of the other end of the connection, or None if it has none."""
    try:
        return str(ip_address(request.environ.get("REMOTE_ADDR", "")))
    except ValueError:
        return None
