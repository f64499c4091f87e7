"""The site as its users reach it: by its public address, through a proxy that terminates TLS."""

import re
from dataclasses import dataclass
from html import unescape
from urllib.parse import quote, unquote_to_bytes, urljoin, urlsplit

from webtest import TestApp

EVIL = "evil.example"
_ADDRESS = re.compile(r"""\s(?:href|src|action)=["']([^"']*)["']""")


@dataclass(frozen=True)
class Exchange:
    """One request and its answer, as the proxy saw them."""

    url: str
    status: int
    headers: list
    body: str

    def header(self, name):
        """All values of a header."""
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def addresses(self):
        """Every href, src and action of an HTML page, as the browser resolves it."""
        if not self.header("Content-Type") or "text/html" not in self.header("Content-Type")[0]:
            return set()
        found = (unescape(address) for address in _ADDRESS.findall(self.body))
        return {urljoin(self.url, address) for address in found if address != ""}


class TlsProxy:
    """WSGI middleware: what a proxy passes on that neither keeps the host nor names the scheme.

    The worst case for an application that makes addresses of what it sees: plain http, a foreign
    Host, and forwarded headers that the client wrote itself. ``strips`` takes the path of the
    public address away, as `proxy_pass http://server/;` of nginx does.
    """

    def __init__(self, app, base_url, *, strips):
        self.app, self.strips = app, strips
        self.mount = _raw(urlsplit(base_url).path)
        self.seen = []

    def __call__(self, environ, start_response):
        path = environ["PATH_INFO"]
        quoted = quote(path.encode("latin-1"))
        url = f"{environ['wsgi.url_scheme']}://{environ['HTTP_HOST']}{quoted}"
        assert path.startswith(f"{self.mount}/") or path == self.mount, url
        inside = environ | {
            "wsgi.url_scheme": "http",
            "HTTP_HOST": EVIL,
            "HTTP_X_FORWARDED_HOST": EVIL,
            "HTTP_X_FORWARDED_PROTO": "http",
            "PATH_INFO": path[len(self.mount) :] if self.strips else path,
        }
        answer = []

        def start(status, headers, exc_info=None):
            answer[:] = int(status[:3]), headers
            return start_response(status, headers, exc_info)

        body = b"".join(self.app(inside, start))
        self.seen.append(Exchange(url, *answer, body.decode("utf-8", "replace")))
        return [body]


def _raw(path):
    """A path as PEP 3333 passes it."""
    return unquote_to_bytes(path).decode("latin-1")


class PublicApp(TestApp):
    """A browser at ``base_url``: a path without the path of the address gets it."""

    def __init__(self, proxy, base_url):
        parts = urlsplit(base_url)
        self.mount = _raw(parts.path)
        super().__init__(
            proxy,
            extra_environ={
                "REMOTE_ADDR": "192.0.2.1",
                "HTTP_HOST": parts.netloc,
                "wsgi.url_scheme": parts.scheme,
            },
        )

    def do_request(self, req, status=None, expect_errors=None):
        path = req.environ["PATH_INFO"]
        if not f"{path}/".startswith(f"{self.mount}/"):
            req.environ["PATH_INFO"] = self.mount + path
        return super().do_request(req, status, expect_errors)
