"""The check of ``authsite doctor --production`` that goes through the proxy: the login page."""

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from authsite.platform.finding import Finding
from authsite.platform.runtime import clock

if TYPE_CHECKING:
    from authsite.platform.context import Services

_SUBJECT = "base-url"
LIMIT = 1024 * 1024  # bytes of the page


def arrival_findings(services: "Services") -> Iterator[Finding]:
    """Fetch the login page at each `base-url`, and say which scheme and Host arrived."""
    for url in services.settings.base_url:
        yield _at(services, url)


def _at(services: "Services", base_url: str) -> Finding:
    from authsite.platform.http import arrival, outbound

    page = f"{base_url.rstrip('/')}/login"
    headers = {"Accept": "text/html", **arrival.question(services.keys, clock.now())}
    try:
        answer = outbound.send(
            services, outbound.UNTRUSTED, "GET", page, headers=headers, limit=LIMIT
        )
    except (outbound.Unreachable, ValueError) as error:
        advice = "start the service and the proxy, and run this again"
        return Finding("change", _SUBJECT, f"{page} cannot be fetched: {error}; {advice}")
    arrived = answer.headers.get(arrival.ANSWER)
    if arrived is None:
        return Finding(
            "change",
            _SUBJECT,
            f"{page} answered with {answer.status}, and not as this authsite: does the proxy pass"
            " this host and path on to it, and does it run with this secret?",
        )
    parts = urlsplit(arrived)
    text = f"{page} arrived with the scheme {parts.scheme} and the Host {parts.netloc}"
    expected = urlsplit(base_url)
    if (parts.scheme, parts.netloc) == (expected.scheme, expected.netloc):
        return Finding("ok", _SUBJECT, text)
    advice = "let the proxy forward both (docs/production.md), and name it in trusted-proxies"
    if len(services.settings.base_url) > 1:
        text = f"{text}: authsite takes the request for one at {services.settings.base_url[0]}"
        return Finding("change", _SUBJECT, f"{text}; {advice}")
    text = f"{text}; authsite uses base-url in their place"
    return Finding("note", _SUBJECT, f"{text}. For several base-url, {advice}")
