"""What the verifier adds to a request whose token is cached: python bench/cache_hit.py

Prints the best of seven, in microseconds of processor time.
"""

import json
import sys
import threading
import timeit
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1]))

from authsite_client import AsgiMiddleware, Verifier, WsgiMiddleware

TOKEN = "at_" + "x" * 90
HEADER = f"Bearer {TOKEN}"
CLAIMS = {
    "active": True,
    "token_type": "Bearer",
    "sub": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
    "username": "ann@example.com",
    "scope": "notes:read notes:write",
    "client_id": "0e37df36-f698-4e8b-9be0-6d2b9a0c1f11",
    "owner": "user",
    "exp": 4_000_000_000,
}
ROUNDS = 20_000


class Introspection(BaseHTTPRequestHandler):
    """Says that every token is active."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps(CLAIMS).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def wsgi_app(environ, start_response):
    start_response("200 OK", [])
    return [b""]


async def asgi_app(scope, receive, send):
    pass


def microseconds(function) -> float:
    """The time of one call."""
    return min(timeit.repeat(function, timer=process_time, number=ROUNDS, repeat=7)) / ROUNDS * 1e6


def run(coroutine) -> None:
    """Run a coroutine that never waits, without the cost of an event loop."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise RuntimeError("the token is not cached")


def measure(verifier) -> dict[str, float]:
    """What each way adds, by name."""
    environ = {"PATH_INFO": "/reports", "HTTP_AUTHORIZATION": HEADER, "REQUEST_METHOD": "GET"}
    scope = {"type": "http", "path": "/reports", "headers": [(b"authorization", HEADER.encode())]}
    wsgi = WsgiMiddleware(wsgi_app, verifier, scope="notes:read", exempt=["/healthz"])
    asgi = AsgiMiddleware(asgi_app, verifier, scope="notes:read", exempt=["/healthz"])
    bare_wsgi = microseconds(lambda: wsgi_app(environ, lambda status, headers: None))
    bare_asgi = microseconds(lambda: run(asgi_app(scope, None, None)))
    return {
        "verify(token)": microseconds(lambda: verifier.verify(TOKEN)),
        "verify_header(header, scope)": microseconds(
            lambda: verifier.verify_header(HEADER, "notes:read")
        ),
        "WsgiMiddleware": microseconds(lambda: wsgi(environ, lambda status, headers: None))
        - bare_wsgi,
        "AsgiMiddleware": microseconds(lambda: run(asgi(scope, None, None))) - bare_asgi,
    }


def main() -> None:
    server = HTTPServer(("127.0.0.1", 0), Introspection)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    verifier = Verifier(f"http://127.0.0.1:{server.server_port}", "id", "secret", cache=3600)
    verifier.verify(TOKEN)
    for name, time in measure(verifier).items():
        print(f"{name:<30}{time:6.1f} µs")
    verifier.close()
    server.shutdown()


if __name__ == "__main__":
    main()
