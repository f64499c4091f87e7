"""An application that leaves the login to the proxy in front of it: `python3 app.py`.

It uses the standard library only. Everything it knows of the caller is in six headers, which only
the proxy can set, because nothing else can connect to the port.
"""

import json
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = 8081
NAMES = (
    *("X-Auth-User", "X-Auth-Email", "X-Auth-Email-Verified"),
    *("X-Auth-Client", "X-Auth-Scope", "X-Auth-Groups"),
    *("X-Auth-Acr", "X-Auth-Amr", "X-Auth-Time"),
)
PAGE = """<!doctype html><html lang="en"><title>Orders</title><link rel="icon" href="data:,">
<h1>Orders of {name}</h1>
<form method="post" action="/orders/new"><button>New order</button></form></html>
"""


class App(BaseHTTPRequestHandler):
    """Pages for people, and below /api/ what the proxy said of the caller, as JSON."""

    def do_GET(self):
        caller = {name: self.headers.get(name, "") for name in NAMES}
        if self.path.startswith("/api/"):
            self._send(200, "application/json", json.dumps(caller))
        elif not caller["X-Auth-User"]:
            # A request that did not pass the proxy's check.
            self._send(401, "text/plain", "Not signed in.")
        else:
            # The address is there only if the user has confirmed it.
            name = caller["X-Auth-Email"] or caller["X-Auth-User"]
            self._send(200, "text/html", PAGE.format(name=escape(name)))

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.do_GET()

    def _send(self, status, kind, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Leave the terminal to authsite."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", PORT), App).serve_forever()
