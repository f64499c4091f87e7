"""Where a login may redirect to: a path of our own host, or an origin in `return-origins`."""

import re
from collections.abc import Callable, Sequence
from urllib.parse import SplitResult, quote, unquote, urlsplit

from authsite.platform.request_state import Request

from . import cookies
from .address import inner_path, path_qs
from .errors import FieldError, ValidationFailed
from .headers import page_route
from .own_routes import is_own

MAX_LENGTH = 2048  # characters
_COOKIE_SAFE = "/:?=&"
# One slash, followed by neither slash nor backslash: browsers read `//` and `/\` as another host.
# No control characters, which browsers remove before they parse the URL, and no backslash. Other
# characters than ASCII must be percent-encoded, as browsers send them.
_LOCAL = re.compile(r"/(?!/)[!-\[\]-~]*")


def _none(_origin: str) -> bool:
    return False


def local_path(target: str | None) -> str | None:
    """``target`` if it is a path on our own host, else None."""
    parts = _split(target)
    if parts is None or parts.scheme or parts.netloc:
        return None
    return target if _LOCAL.fullmatch(target or "") else None


def return_target(
    request: Request, target: str | None, allows: Callable[[str], bool] = _none
) -> str | None:
    """``target`` if a login may lead there: a local path, or a URL in `return-origins`.

    ``allows`` tells whether it may be a URL of a further origin.
    """
    local, parts = local_path(target), _split(target)
    if local or target is None or parts is None:
        return local
    plain = target.isascii() and target.isprintable() and not re.search(r"[\\\s]", target)
    origin = f"{parts.scheme}://{parts.netloc}"
    known = origin in request.authsite.settings.return_origins or allows(origin)
    return target if plain and known else None


def _split(target: str | None) -> SplitResult | None:
    """The parts of ``target``; None if it is empty, too long or not a URL."""
    if not target or len(target) > MAX_LENGTH:
        return None
    try:
        return urlsplit(target)
    except ValueError:
        return None


def page_of_form(request: Request) -> str | None:
    """The page that contains a rejected form, for ``next``; None if it is unknown.

    This is the page in a same-origin ``Referer``, else the path that the form was sent to, if it
    has GET. A page of our own comes without its query, which is about an earlier action.
    """
    for page in (_referring_page(request), path_qs(request)):
        target = local_path(page)
        if target is None:
            continue
        path = target.partition("?")[0]
        has_get, route = page_route(request, inner_path(request, path))
        if has_get:
            return path if is_own(route) else target
    return None


def referring_url(request: Request) -> str:
    """The URL in ``Referer``, or an empty text; a target only after one of the checks here."""
    url: str = request.headers.get("Referer", "")
    return url


def _referring_page(request: Request) -> str | None:
    url, own = referring_url(request), f"{request.authsite.address.origin}/"
    return url.removeprefix(own[:-1]) if url.startswith(own) else None


def next_page(request: Request) -> str | None:
    """``request.authsite.next``: the checked target of a redirect after the login, or None.

    It comes from the form, else from the query, else from the cookie that `keep_next` sets.
    """
    return return_target(request, sent_next(request) or _next_in_cookie(request))


def sent_next(request: Request) -> str | None:
    """``next`` of the form, else of the query, as it was sent: a target only after a check."""
    return request.authsite.raw_form.get("next") or request.GET.get("next")


def keep_next(request: Request) -> None:
    """Keep ``next`` in a cookie for the lifetime of the links in mails, which do not contain it."""
    settings, target = request.authsite.settings, request.authsite.next
    if target is None:
        forget_next(request)
        return
    lifetime = max(settings.verification_expires_in, settings.reset_expires_in)
    value = quote(target, safe=_COOKIE_SAFE)
    _write_next(request, value, int(lifetime.total_seconds()))


def forget_next(request: Request) -> None:
    """Delete the cookie of `keep_next`, if the browser has it."""
    if _next_in_cookie(request) is not None:
        _write_next(request, "", 0)


def _next_in_cookie(request: Request) -> str | None:
    value = cookies.read(request, cookies.host_name(request, cookies.NEXT))
    return unquote(value) if value else None


def _write_next(request: Request, value: str, max_age: int) -> None:
    name = cookies.host_name(request, cookies.NEXT)
    cookies.write(request, request.response, cookies.Cookie(name, value, max_age))


# URLs of pages that a caller may choose for the link in a mail.


def choose_page_url(url: str | None, allowed: Sequence[str], field: str) -> str:
    """``url`` if ``allowed`` contains exactly this text (RFC 9700, section 4.1).

    Without ``url`` the result is the first of ``allowed``. Raises `ValidationFailed` with the code
    ``not_allowed`` on ``field``.
    """
    if url is None:
        return allowed[0]
    if url in allowed:
        return url
    raise page_not_allowed(field)


def page_not_allowed(field: str) -> ValidationFailed:
    """The error for a page that the settings do not list."""
    message = "This URL is not among the configured ones. Send one of them unchanged."
    return ValidationFailed(details=[FieldError("not_allowed", field, message)])


def page_required(field: str) -> ValidationFailed:
    """The error for an API request that has to name a page and does not."""
    message = "Send the page that the link opens: one of those in the settings."
    return ValidationFailed(details=[FieldError("required", field, message)])
