"""The links below every page that change its language.

A link is the page's own URL with ``?lang=fr``. Its response sets a cookie, and redirects to the URL
without ``lang``. Nothing is changed on the server, and the path stays, so that the redirect leads
nowhere else. It works for POST-only paths as well, which redirect a GET to their page.

A page that a link in a mail has opened has buttons instead: no link may repeat the token. They send
the page's own form with ``?lang=fr``, which shows the page again and does nothing else.
"""

from typing import NamedTuple
from urllib.parse import quote, quote_from_bytes

from pyramid.httpexceptions import HTTPSeeOther
from pyramid.response import Response

from authsite.platform.i18n import own_name, tag
from authsite.platform.request_state import Request

from . import cookies
from .address import absolute, path_qs
from .headers import SAFE_METHODS
from .own_routes import is_own_request
from .request_facts import PARAMETER

SECRETS = ("token", "url")  # of links in mails: no other link of the page may repeat them
YEAR = 365 * 86400  # seconds
# The characters of a query (RFC 3986, section 3.4), and the percent sign of encoded ones.
_QUERY_SAFE = "/?:@!$&'()*+,;=~%"


class Choice(NamedTuple):
    """A language to choose: its tag, its name in itself, and a URL relative to the page."""

    tag: str
    name: str
    href: str


def choices(request: Request) -> list[Choice]:
    """The languages to choose from; none on a page of the host application.

    If a link in a mail has opened the page, the URLs have no query: no link may repeat the token
    (OWASP ASVS 5.0, 14.2.1).
    """
    offered = request.authsite.settings.languages
    if len(offered) < 2 or not is_own_request(request):
        return []
    others = _other_parameters(request)
    given = (*dict(_pairs(request)), *request.authsite.raw_form, *(request.matchdict or ()))
    if any(name in SECRETS for name in given):
        others = []
    elif not others and (target := request.authsite.raw_form.get("next")):
        others = [f"next={quote(target, safe='/')}"]
    return [
        Choice(tag(each), own_name(each), "?" + "&".join([*others, f"{PARAMETER}={each}"]))
        for each in offered
    ]


def keep_language(request: Request, response: Response, language: str) -> None:
    """Set the cookie of the chosen language."""
    name = cookies.host_name(request, cookies.LANGUAGE)
    cookies.write(request, response, cookies.Cookie(name, language, YEAR))


def choose_language(request: Request) -> None:
    """For a page with ``lang``: set the cookie, and raise the redirect to the page without it."""
    if f"{PARAMETER}=" not in request.query_string or request.method not in SAFE_METHODS:
        return
    chosen = dict(_pairs(request)).get(PARAMETER)
    is_page = request.authsite.error_format == "html" and is_own_request(request)
    if not chosen or not is_page or chosen not in request.authsite.settings.languages:
        return
    path = path_qs(request).partition("?")[0]
    query = "&".join(_other_parameters(request))
    response = HTTPSeeOther(absolute(request, f"{path}?{query}" if query else path))
    keep_language(request, response, chosen)
    raise response


def _other_parameters(request: Request) -> list[str]:
    """The parameters of the query but ``lang``, as they were sent: a signed URL stays valid."""
    return [
        f"{name}={value}" if value is not None else name
        for name, value in _pairs(request)
        if name != PARAMETER
    ]


def _pairs(request: Request) -> list[tuple[str, str | None]]:
    """The names and values of the query, percent-encoded; the value is None without ``=``."""
    query = quote_from_bytes(request.query_string.encode("latin-1"), safe=_QUERY_SAFE)
    parts = (part.partition("=") for part in query.split("&") if part)
    return [(name, value if equals else None) for name, equals, value in parts]
