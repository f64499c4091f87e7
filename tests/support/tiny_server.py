"""A small HTTP server in this process, whose responses a test decides."""

import json
import socket
import socketserver
import threading
from contextlib import contextmanager, suppress
from email.message import Message
from http.server import BaseHTTPRequestHandler
from typing import NamedTuple
from urllib.parse import parse_qs

from tests.support.certificates import server_context

TIMEOUT = 30  # seconds that a test waits for a condition at most


class Received(NamedTuple):
    """A request; ``form`` has the parameters of its body."""

    command: str
    path: str
    headers: Message
    form: dict


class TinyServer(socketserver.ThreadingTCPServer):
    """``respond`` gets a request and returns status, headers and body.

    ``requests`` has the requests so far, ``connections`` is the number of connections so far.
    """

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 200

    def __init__(self, respond, port=0, handler=None):
        super().__init__(("127.0.0.1", port), handler or _Handler)
        self.respond = respond
        self.requests = []
        self.connections = 0
        self.open = set()

    @property
    def port(self):
        return self.server_address[1]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def get_request(self):
        self.connections += 1
        accepted = super().get_request()
        self.open.add(accepted[0])
        return accepted

    def handle_error(self, request, client_address):
        """A client that goes away is not an error of the server."""

    def drop_connections(self):
        """Close all connections, as a server does that ends."""
        for each in list(self.open):
            self.open.discard(each)
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        form = {name: value for name, [value] in parse_qs(self.rfile.read(length).decode()).items()}
        request = Received(self.command, self.path, self.headers, form)
        self.server.requests.append(request)
        status, headers, body = self.server.respond(request)
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_DELETE = do_POST

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def tiny_server(respond, **options):
    """A `TinyServer` that runs until the end of the block."""
    with TinyServer(respond, **options) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            server.drop_connections()
            thread.join(TIMEOUT)


@contextmanager
def tls_server(certificate, respond=lambda _: (200, {}, {})):
    """A TLS server at 127.0.0.1; ``names`` has the names that its clients have sent (SNI)."""
    with TinyServer(respond) as server:
        context, server.names = server_context(certificate), []
        context.sni_callback = lambda _socket, name, _context: server.names.append(name)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def raw_server(talk):
    """A server that hands each connection to ``talk(socket)``."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            talk(self.request)

    with tiny_server(None, handler=Handler) as server:
        yield server


class Held:
    """Responses that wait until the test releases them."""

    def __init__(self, respond):
        self._respond = respond
        self._released = threading.Event()
        self.arrived = threading.Event()

    def __call__(self, request):
        self.arrived.set()
        assert self._released.wait(TIMEOUT)
        return self._respond(request)

    def release(self):
        self._released.set()
