"""Reading and setting authsite's cookies (RFC 6265bis, sections 4 and 5.8).

WebOb's ``request.cookies`` takes quadratic time for a long header and matches a name inside the
name of another cookie, so authsite does not use it.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from pyramid.response import Response

from authsite.platform.request_state import Request

SESSION, GUARD = "authsite", "authsite-guard"
CSRF, NEXT, ADDRESS = "authsite-csrf", "authsite-next", "authsite-address"
LANGUAGE, UNDO = "authsite-language", "authsite-undo"
LOGIN, REGISTERED = "authsite-login", "authsite-registered"
PROVIDER, FACTOR, LATER = "authsite-provider", "authsite-factor", "authsite-later"
ADMIN, ADMIN_FORM = "authsite-admin", "authsite-admin-form"
DEVICE, REFRESH = "device", "refreshToken"
WITNESS = "authsite-refresh-"  # and the name of the client

HOST, SECURE = "__Host-", "__Secure-"  # prefixes of names on https
# The names of all our cookies, as patterns: what follows the prefix, or has none. A reverse proxy
# removes these cookies from what it passes on (docs/forward-auth.md).
_WITH_HOST = (
    CSRF,
    NEXT,
    ADDRESS,
    LANGUAGE,
    UNDO,
    LOGIN,
    REGISTERED,
    PROVIDER,
    FACTOR,
    LATER,
    ADMIN,
    ADMIN_FORM,
)
_WITH_SECURE = (GUARD,)
_WITHOUT = (REFRESH, f"{HOST}{WITNESS}[0-9A-Za-z_-]+")


def _session_or(names: tuple[str, ...]) -> str:
    """A pattern for `SESSION` and these names, which begin with it: it is compared once."""
    endings = "|".join(name.removeprefix(f"{SESSION}-") for name in names)
    return f"{SESSION}(?:-(?:{endings}))?"


# Nothing sets `SESSION` with `SECURE`; another host could, so that it is recognized, too.
NAMES = "|".join(
    (
        f"(?:{HOST})?(?:{_session_or(_WITH_HOST)}|{DEVICE})",
        f"(?:{SECURE})?{_session_or(_WITH_SECURE)}",
        *_WITHOUT,
    )
)
"""A regular expression that the name of each of our cookies matches, on http and on https."""

# Linear time: a possessive quantifier for blanks. The lookahead has how each of `NAMES` begins; at
# most other names the search ends there, before any of the alternatives is tried.
_OWN = re.compile(rf";[ \t]*+(?=__[HS]|au|de|re)({NAMES})=([^;]*)")
_IP_ADDRESS = re.compile(r"\[.*|[0-9.]+")
_PATH_SAFE = "/~!$&'()*+,;=:@"  # characters of a path that browsers do not encode
_MAX_PARTS, _MAX_PATH = 16, 1024  # of a path at which cookies are deleted; characters of it


def parse(header: str) -> dict[str, tuple[str, ...]]:
    """The different values of authsite's cookies in a Cookie header, by name.

    A name starts at the beginning, or after ``;`` and blanks, and ends before ``=``. The rest of
    the header is ignored.
    """
    found: dict[str, dict[str, None]] = {}
    different = ";".join(dict.fromkeys(header.split(";")))  # an attacker sends one many times
    for name, value in _OWN.findall(f";{different}"):
        found.setdefault(name, {})[_unquoted(value.strip(" \t"))] = None
    return {name: tuple(values) for name, values in found.items()}


def without_own(header: str) -> str:
    """A Cookie header without authsite's cookies; the others stay as they were sent."""
    return _OWN.sub("", f";{header}").lstrip("; \t")


def read(request: Request, name: str) -> str | None:
    """The value of the cookie ``name``, or None.

    A browser sends two cookies of one name if another host, such as a sibling subdomain, has set
    the name as well. Their order does not show which is which. Then the result is None, and the
    response deletes the cookie, see `delete_all`.
    """
    values = request.authsite.cookies.get(name, ())
    if len(values) > 1:
        delete_all(request, name)
        return None
    return values[0] if values else None


def read_all(request: Request, name: str) -> tuple[str, ...]:
    """The different values of the cookie ``name``, for one that a witness tells apart."""
    values: tuple[str, ...] = request.authsite.cookies.get(name, ())
    return values


def delete_all(request: Request, name: str, *, except_at: str | None = None) -> None:
    """Let the response delete the cookie ``name`` wherever another host may have set it.

    That is: for this host and for each parent domain, at each path that a request with this path
    sends it from. ``except_at``: a path where the cookie of this host alone, which no other host
    can set, stays.
    """
    request.authsite.cookies.pop(name, None)
    request.add_response_callback(
        lambda request, response: _expire(request, response, name, except_at)
    )


class Cookie(NamedTuple):
    """A cookie to set. ``max_age`` is in seconds; 0 deletes it; None: until the browser closes."""

    name: str
    value: str
    max_age: int | None
    path: str = "/"
    domain: str | None = None
    samesite: str = "Lax"


def write(request: Request, response: Response, cookie: Cookie) -> None:
    """Set ``cookie``; scripts cannot read it (HttpOnly). From now on `read` returns its value."""
    response.set_cookie(**cookie._asdict(), secure=is_secure(request), httponly=True)
    request.authsite.cookies[cookie.name] = () if cookie.max_age == 0 else (cookie.value,)


def host_name(request: Request, name: str) -> str:
    """``name`` with the prefix ``__Host-``, so that no other host can set it; needs TLS."""
    return f"{HOST}{name}" if is_secure(request) else name


def is_secure(request: Request) -> bool:
    """Whether cookies are set with ``Secure``: users connect with TLS."""
    return bool(request.authsite.address.https)


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value


def _expire(request: Request, response: Response, name: str, except_at: str | None) -> None:
    flags = "; Secure; HttpOnly" if is_secure(request) else "; HttpOnly"
    # A browser takes a name with this prefix only at this path.
    paths = ("/",) if name.startswith(HOST) else tuple(_paths(request))
    # Before the cookies of the view: browsers process Set-Cookie headers in order.
    response.headerlist[:0] = [
        ("Set-Cookie", f"{name}=; Max-Age=0; Path={path}{flags}{domain}")
        for path in paths
        for domain in ("", *(f"; Domain={each}" for each in _domains(request)))
        if domain or path != except_at
    ]


def _paths(request: Request) -> Iterator[str]:
    """The paths of cookies that a browser sends with the request (RFC 6265bis, section 5.1.4).

    With and without a slash at the end are two paths. The shortest ones, within a limit: anyone
    can request a path of thousands of parts.
    """
    inner = quote(request.environ["PATH_INFO"].encode("latin-1"), safe=_PATH_SAFE)
    path = f"{request.authsite.address.mount}{inner}"
    slashes = (match.start() for match in re.finditer("/", path[:_MAX_PATH]))
    parts = [path[:end] for slash in islice(slashes, _MAX_PARTS) for end in (slash, slash + 1)]
    # A semicolon would end the attribute.
    return (each for each in dict.fromkeys((*parts, path[:_MAX_PATH])) if each and ";" not in each)


def _domains(request: Request) -> list[str]:
    """The domains that a cookie of our host may have: the host and its parents that have a dot."""
    host = urlsplit(request.authsite.address.origin).hostname or ""
    if _IP_ADDRESS.fullmatch(host):
        return []
    labels = host.split(".")
    return [".".join(labels[start:]) for start in range(len(labels) - 1)]
