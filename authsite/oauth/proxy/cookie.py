"""The refresh cookie with its witness, and the check that a page of the same site uses it.

The refresh cookie has the path of its client, which excludes the prefix ``__Host-``. So any host of
the domain can set one, which would sign a visitor in to another account (login CSRF). On https a
second cookie with that prefix, the witness, is set with it. Its value is a MAC over the token
family, and the refresh cookie counts only with the witness of its family.
"""

from uuid import UUID

from authsite.oauth.tokens import REFRESH, Token, decode_expired
from authsite.platform.http import cookies
from authsite.platform.http.address import route_path
from authsite.platform.http.body_values import JSON
from authsite.platform.request_state import Request

from .errors import ForeignOrigin, UnfitRefreshCookie

WITNESS_PURPOSE = "refresh cookie witness"


def set_cookies(request: Request, token: str) -> None:
    """Set the cookie to the refresh token, for the routes of this client only, and its witness."""
    lifetime = int(request.authsite.settings.refresh_expires_in.total_seconds())
    client = request.matchdict["client"]
    _write(request, client, token, lifetime)
    issued = decode_expired(request.authsite.services.keys, REFRESH, token)
    if issued:
        _write_witness(request, client, _witness(request, issued.family_id), lifetime)


def clear_all(request: Request) -> None:
    """Delete the cookies of all configured clients (at logout), under both spellings."""
    for client in request.authsite.settings.clients:
        for name in dict.fromkeys((client, client.replace("_", "-"))):
            _write(request, name, "", 0)
            _write_witness(request, name, "", 0)


def read_token(request: Request) -> str | None:
    """The refresh token in the cookie, or None.

    Of several cookies, on https the one that fits the witness counts, and the others are deleted.
    Raises `ForeignOrigin` for a request without an origin that a form of any site could send, and
    `UnfitRefreshCookie` if none fits; then cookie and witness are deleted.
    """
    sent = cookies.read_all(request, cookies.REFRESH)
    has_origin = "Origin" in request.headers or "Sec-Fetch-Site" in request.headers
    if any(sent) and not has_origin and request.content_type.strip().lower() != JSON:
        raise ForeignOrigin
    if not any(sent) or not cookies.is_secure(request):
        return cookies.read(request, cookies.REFRESH)
    client = request.matchdict["client"]
    fitting = [(token.generation, text) for text in sent if (token := _fitting(request, text))]
    if not fitting:
        cookies.delete_all(request, cookies.REFRESH)
        cookies.delete_all(request, _witness_name(client))
        raise UnfitRefreshCookie
    if len(sent) > 1:
        # The fitting one stays until the answer replaces it, for an answer that does not (503).
        cookies.delete_all(request, cookies.REFRESH, except_at=_path(request, client))
    return max(fitting)[1]


def _fitting(request: Request, text: str) -> Token | None:
    """The refresh token ``text``, expired or not, if the browser has the witness of its family."""
    token = decode_expired(request.authsite.services.keys, REFRESH, text)
    witness = cookies.read(request, _witness_name(request.matchdict["client"]))
    ring = request.authsite.services.keys[WITNESS_PURPOSE]
    fits = token and witness and ring.is_signature(token.family_id.bytes, witness)
    return token if fits else None


def _witness(request: Request, family_id: UUID) -> str:
    return request.authsite.services.keys[WITNESS_PURPOSE].sign(family_id.bytes)


def _witness_name(client: str) -> str:
    return f"{cookies.HOST}{cookies.WITNESS}{client}"


def _write_witness(request: Request, client: str, value: str, max_age: int) -> None:
    """Only on https: without TLS a browser takes no cookie with this prefix."""
    if cookies.is_secure(request):
        name = _witness_name(client)
        cookie = cookies.Cookie(name, value, max_age, samesite="Strict")
        cookies.write(request, request.response, cookie)


def _write(request: Request, client: str, value: str, max_age: int) -> None:
    path = _path(request, client)
    cookie = cookies.Cookie(cookies.REFRESH, value, max_age, path=path, samesite="Strict")
    cookies.write(request, request.response, cookie)


def _path(request: Request, client: str) -> str:
    return route_path(request, "authsite.proxy.login", client=client).removesuffix("/login")
