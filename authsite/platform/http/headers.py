"""The headers of authsite's responses: security headers, CORS headers and the request id.

The first restrict what browsers do with our responses (OWASP Secure Headers Project).
"""

from collections.abc import Mapping
from functools import cache
from urllib.parse import urlsplit

from pyramid.response import Response

from authsite.platform.request_state import Request

from .address import absolute
from .cors import allow_origin
from .own_routes import is_forward_auth

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    # With no-referrer browsers would send `Origin: null` with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "X-Frame-Options": "DENY",
}
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
API_POLICY = "default-src 'none'; frame-ancestors 'none'"
# Lower-case name -> header.
API_HEADERS = {
    name.lower(): (name, value)
    for name, value in {**HEADERS, "Content-Security-Policy": API_POLICY}.items()
}
NOT_STORED = (("Cache-Control", "no-store"), ("Pragma", "no-cache"))
# Setting `hsts` -> header value. The age is one year (RFC 6797, section 6.1).
HSTS = {"host": "max-age=31536000", "subdomains": "max-age=31536000; includeSubDomains"}


def complete(request: Request, response: Response) -> int:
    """Add the headers, make a redirect absolute, and remove ``Content-Type`` from a 204.

    Returns the status.
    """
    # The plain list, here and below: WebOb's mapping searches it for every name.
    headers = response.headerlist
    headers.append(("X-Request-Id", request.authsite.request_id))
    status: int = response.status_int
    # RFC 9110, section 10.2.2. WebOb takes 2 µs to look for a header that is missing.
    if (status == 201 or 300 <= status < 400) and (location := response.location):
        response.location = absolute(request, location)
    present = {name.lower() for name, _ in headers}
    if status == 204 and "content-type" in present:  # no content, no type (RFC 9110, section 8.3)
        headers[:] = [header for header in headers if header[0].lower() != "content-type"]
    _add_security_headers(request, headers, present)
    allow_origin(request, response)
    return status


def _add_security_headers(
    request: Request, headers: list[tuple[str, str]], present: set[str]
) -> None:
    """Add the security headers that the view has not set; ``present``: the names of those it has.

    These names are in lower case.
    """
    page = request.authsite.error_format == "html"
    wanted = _page_headers(request.authsite.settings.site_logo) if page else API_HEADERS
    headers += [header for name, header in wanted.items() if name not in present]
    if "cache-control" not in present:
        headers += NOT_STORED
    hsts = request.registry["authsite.http"].hsts
    if hsts and request.authsite.address.https and not is_forward_auth(request):
        headers.append(("Strict-Transport-Security", hsts))


@cache
def _page_headers(site_logo: str | None) -> Mapping[str, tuple[str, str]]:
    """The headers of pages; the policy admits the origin of the logo in setting `site-logo`."""
    logo = urlsplit(site_logo or "")
    images = f"img-src 'self' {logo.scheme}://{logo.netloc}" if logo.netloc else "img-src 'self'"
    policy = PAGE_POLICY.replace("img-src 'self'", images)
    return {**API_HEADERS, "content-security-policy": ("Content-Security-Policy", policy)}
