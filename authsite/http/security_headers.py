"""Headers that restrict what browsers do with our responses (OWASP Secure Headers Project)."""

from collections.abc import Mapping
from functools import cache
from urllib.parse import urlsplit

from pyramid.response import Response

from authsite.request_state import Request

from .routes import is_forward_auth

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


def add(request: Request, response: Response) -> None:
    """Add the security headers that the view has not set."""
    # The bare list: WebOb's mapping searches it for every name.
    headers = response.headerlist
    present = {name.lower() for name, _ in headers}
    page = request.authsite.error_format == "html"
    wanted = page_headers(request.authsite.settings.site_logo) if page else API_HEADERS
    headers += [header for name, header in wanted.items() if name not in present]
    if "cache-control" not in present:
        headers += NOT_STORED
    hsts = request.registry["authsite.http"].hsts
    if hsts and request.authsite.address.https and not is_forward_auth(request):
        headers.append(("Strict-Transport-Security", hsts))


@cache
def page_headers(site_logo: str | None) -> Mapping[str, tuple[str, str]]:
    """The headers of pages; the policy admits the origin of the logo in setting `site-logo`."""
    logo = urlsplit(site_logo or "")
    images = f"img-src 'self' {logo.scheme}://{logo.netloc}" if logo.netloc else "img-src 'self'"
    policy = PAGE_POLICY.replace("img-src 'self'", images)
    return {**API_HEADERS, "content-security-policy": ("Content-Security-Policy", policy)}
