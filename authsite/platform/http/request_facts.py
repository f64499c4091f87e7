"""Read from a request what `RequestInfo` has."""

import re
from functools import lru_cache
from ipaddress import ip_address
from os import urandom

from authsite.platform.i18n import negotiate
from authsite.platform.request_state import Request

from . import cookies
from .request_info import RequestInfo

_REQUEST_ID_KEY = "authsite.request_id"  # in the WSGI environ
_VALID_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
MAX_AGENT = 200  # characters
PARAMETER = "lang"
_CHOSEN = re.compile(rf"(?:^|&){PARAMETER}=(\w{{2,8}})(?:&|$)")


def request_id(request: Request) -> str:
    """The id of this request: a trusted proxy's ``X-Request-Id``, or a new one.

    A request that pyramid_retry runs again has the id of its first attempt.
    """
    if request.authsite.through_trusted_proxy:
        received: str = request.headers.get("X-Request-Id", "")
        if _VALID_REQUEST_ID.fullmatch(received):
            return received
    made: str = request.environ.setdefault(_REQUEST_ID_KEY, urandom(12).hex())
    return made


def request_info(request: Request) -> RequestInfo:
    """The `RequestInfo` of ``request``."""
    agent: str = request.environ.get("HTTP_USER_AGENT", "")[:MAX_AGENT]
    printable = agent if agent.isprintable() else "".join(filter(str.isprintable, agent))
    chosen, accepted = chosen_language(request), request.headers.get("Accept-Language")
    language = language_of(request, chosen)
    return RequestInfo(
        request.authsite.client_address,
        printable or None,
        request.authsite.request_id,
        request.authsite.base_urls,
        language,
        language if chosen or accepted else None,
        request.environ.get("SERVER_PORT"),
    )


def language_of(request: Request, chosen: str | None) -> str:
    """The best language for a request; ``chosen``: its `chosen_language`."""
    offered = request.authsite.settings.languages
    return (
        chosen_by_button(request)
        or chosen
        or negotiate(request.headers.get("Accept-Language"), offered)
    )


def chosen_language(request: Request) -> str | None:
    """The language that the user has chosen on a page, if it is offered."""
    if "HTTP_COOKIE" not in request.environ:  # most requests to the API
        return None
    chosen = cookies.read(request, cookies.host_name(request, cookies.LANGUAGE))
    return chosen if chosen in request.authsite.settings.languages else None


def chosen_by_button(request: Request) -> str | None:
    """The language of a POST that only chooses one; see ``languages.py``. None for others."""
    found = _CHOSEN.search(request.query_string) if request.method == "POST" else None
    return found[1] if found and found[1] in request.authsite.settings.languages else None


def peer(request: Request) -> str | None:
    """The IP address of the connection's peer; None for a Unix socket."""
    return canonical(request.environ.get("REMOTE_ADDR", ""))


@lru_cache(maxsize=1024)
def canonical(text: str) -> str | None:
    """An address in the one form that everything here knows; None for another text.

    A server that listens on ``::`` gets IPv4 addresses as ``::ffff:192.0.2.1`` (RFC 4291, section
    2.5.5.2): it is the IPv4 address.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return str(getattr(address, "ipv4_mapped", None) or address)
