"""Reading and setting authsite's cookies (RFC 6265bis, sections 4 and 5.8).

WebOb's ``request.cookies`` takes quadratic time for a long header and matches a name inside the
name of another cookie, so authsite does not use it.
"""

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from pyramid.response import Response

from authsite.request_state import Request

SESSION, CSRF, NEXT, ADDRESS = "authsite", "authsite-csrf", "authsite-next", "authsite-address"
LANGUAGE, UNDO = "authsite-language", "authsite-undo"
DEVICE, REFRESH = "device", "refreshToken"

_NAMES = "|".join((SESSION, CSRF, NEXT, ADDRESS, LANGUAGE, UNDO, DEVICE, REFRESH))
# Linear time: a possessive quantifier for blanks, and a lookahead for the first character.
_OWN = re.compile(rf";[ \t]*+(?=[_adr])((?:__Host-|__Secure-)?(?:{_NAMES}))=([^;]*)")
_IP_ADDRESS = re.compile(r"\[.*|[0-9.]+")


def parse(header: str) -> dict[str, tuple[str, ...]]:
    """The values of authsite's cookies in a Cookie header, by name: at most two different ones.

    A name starts at the beginning, or after ``;`` and blanks, and ends before ``=``. The rest of
    the header is ignored.
    """
    found: dict[str, list[str]] = {}
    for name, value in _OWN.findall(f";{header}"):
        values = found.setdefault(name, [])
        if len(values) < 2:  # with two values the cookie is ambiguous
            value = _unquoted(value.strip(" \t"))
            if value not in values:
                values.append(value)
    return {name: tuple(values) for name, values in found.items()}


def read(request: Request, name: str, path: str = "/") -> str | None:
    """The value of the cookie ``name``, or None.

    A browser sends two cookies of one name if another host, such as a sibling subdomain, has set
    the name as well. Their order does not show which is which. Then the result is None, and the
    response deletes the cookie at ``path`` for this host and for each parent domain.
    """
    values = request.authsite.cookies.pop(name, ())
    if len(values) > 1:
        request.add_response_callback(
            lambda request, response: _expire_all(request, response, name, path)
        )
        return None
    if values:
        request.authsite.cookies[name] = values
        return str(values[0])
    return None


class Cookie(NamedTuple):
    """A cookie to set. ``max_age`` is in seconds; 0 deletes it; None: until the browser closes."""

    name: str
    value: str
    max_age: int | None
    path: str = "/"
    domain: str | None = None
    samesite: str = "Lax"


def write(request: Request, response: Response, cookie: Cookie) -> None:
    """Set ``cookie``; scripts cannot read it (HttpOnly)."""
    response.set_cookie(**cookie._asdict(), secure=is_secure(request), httponly=True)


def host_name(request: Request, name: str) -> str:
    """``name`` with the prefix ``__Host-``, so that no other host can set it; needs TLS."""
    return f"__Host-{name}" if is_secure(request) else name


def is_secure(request: Request) -> bool:
    """Whether cookies are set with ``Secure``: users connect with TLS."""
    return bool(request.authsite.address.https)


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value


def _expire_all(request: Request, response: Response, name: str, path: str) -> None:
    flags = "; Secure; HttpOnly" if is_secure(request) else "; HttpOnly"
    expired = f"{name}=; Max-Age=0; Path={path}{flags}"
    # Before the cookies of the view: browsers process Set-Cookie headers in order.
    response.headerlist[:0] = [
        ("Set-Cookie", expired),
        *(("Set-Cookie", f"{expired}; Domain={domain}") for domain in _domains(request)),
    ]


def _domains(request: Request) -> list[str]:
    """The domains that a cookie of our host may have: the host and its parents that have a dot."""
    host = urlsplit(request.authsite.address.origin).hostname or ""
    if _IP_ADDRESS.fullmatch(host):
        return []
    labels = host.split(".")
    return [".".join(labels[start:]) for start in range(len(labels) - 1)]
