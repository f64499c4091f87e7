"""The recipes for nginx and Caddy in ``examples/``, run for real before an application of our own.

The application speaks WebSocket, says which headers reached it, and knows its users by
``X-Auth-Email`` alone, as Grafana (``auth.proxy``) and others do.
"""

import base64
import getpass
import hashlib
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support import nginx
from tests.support.installed import CHECKOUT
from tests.support.servers import stop, wait_for_port

EXAMPLES = CHECKOUT / "examples"
CEO = "ceo@corp.example"
ROLES = {CEO: "administrator"}
BROWSER = {"Accept": "text/html,*/*;q=0.8", "Sec-Fetch-Dest": "document"}
_MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3


class Application(BaseHTTPRequestHandler):
    """Knows the users by their address: see ROLES."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.headers.get("Upgrade") == "websocket":
            self._echo()
            return
        given = {name: value for name, value in self.headers.items() if name.startswith("X-")}
        role = ROLES.get(self.headers.get("X-Auth-Email", ""), "unknown")
        body = json.dumps({"headers": given, "host": self.headers["Host"], "role": role}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _echo(self):
        """Accept the WebSocket and send one message back (RFC 6455)."""
        assert "upgrade" in self.headers["Connection"].lower()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", _accept(self.headers["Sec-WebSocket-Key"]))
        self.end_headers()
        length = self.rfile.read(2)[1] & 0x7F
        mask, masked = self.rfile.read(4), self.rfile.read(length)
        message = bytes(byte ^ mask[place % 4] for place, byte in enumerate(masked))
        self.wfile.write(bytes([0x81, length]) + message)
        self.close_connection = True

    def log_message(self, *_):
        """Say nothing."""


def _accept(key):
    return base64.b64encode(
        hashlib.sha1(f"{key}{_MAGIC}".encode(), usedforsecurity=False).digest()
    ).decode()


@contextmanager
def application():
    """The application in a thread; yields its server, with ``.asked`` and ``.server_port``."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Application)
    server.asked, server.daemon_threads = [], True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def available(name):
    """The path of ``nginx`` or ``caddy``, or None."""
    return nginx.available() if name == "nginx" else shutil.which(name)


@contextmanager
def recipe(name, folder, *, port, authsite, app):
    """The example of ``name`` at ``port``, with the ports of both servers; nothing else differs."""
    place = shutil.copytree(EXAMPLES / name, folder / name, ignore=shutil.ignore_patterns("var"))
    (place / "var").mkdir()
    ports = {"8080": port, "6543": authsite, "8081": app}
    for path in [*place.glob("*.conf"), *place.glob("Caddyfile")]:
        text = re.sub("|".join(ports), lambda found: str(ports[found[0]]), path.read_text())
        # As root, nginx would read the files as another user, who cannot see this folder.
        path.write_text(text.replace("daemon off;", f"daemon off; user {getpass.getuser()};"))
    with _running(name, place, port):
        yield


@contextmanager
def _running(name, place, port):
    """The program with the configuration in ``place``; it is stopped by its id."""
    command = {
        "nginx": ["-p", ".", "-c", "nginx.conf", "-e", "stderr"],
        "caddy": ["run", "--config", "Caddyfile"],
    }[name]
    home = dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"), str(place))
    with open(place / "log", "wb") as log:
        process = subprocess.Popen(
            [available(name), *command], cwd=place, stdout=log, stderr=log,
            env={**os.environ, **home},
        )  # fmt: skip
    try:
        try:
            wait_for_port(port, process)
        except RuntimeError:
            raise RuntimeError((place / "log").read_text(errors="replace")) from None
        yield
    finally:
        stop(process)


@contextmanager
def ext_authz(folder, *, port, authsite):
    """The server of ``examples/nginx/ext-authz.conf`` at ``port``, alone in an nginx."""
    place = folder / "ext-authz"
    (place / "var").mkdir(parents=True)
    shutil.copy(EXAMPLES / "nginx" / "guard.conf", place)
    server = (EXAMPLES / "nginx" / "ext-authz.conf").read_text().replace("9000", str(port))
    one_host = (EXAMPLES / "nginx" / "nginx.conf").read_text()
    paths = re.findall(r"(?m)^ *\w+_temp_path .*;$", one_host)
    config = "\n".join(
        [
            f"daemon off; user {getpass.getuser()}; pid var/nginx.pid; error_log stderr;",
            *("events {}", "http {", "access_log off;", *paths),
            f"upstream authsite {{ server 127.0.0.1:{authsite}; }}",
            *(server, "}"),
        ]
    )
    (place / "nginx.conf").write_text(config)
    with _running("nginx", place, port):
        yield


def web_socket(port, path, headers=()):
    """Open a WebSocket and send a message: the status, and the message that comes back."""
    sent = {
        "Host": f"localhost:{port}",
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(secrets.token_bytes(16)).decode(),
        "Sec-Fetch-Dest": "websocket",
        **dict(headers),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
        stream = connection.makefile("rb")
        status = int(stream.readline().split()[1])
        answered = {}
        while (line := stream.readline().strip()) != b"":
            name, _, value = line.decode().partition(": ")
            answered[name.lower()] = value
        if status != 101:
            return status, None
        assert answered["sec-websocket-accept"] == _accept(sent["Sec-WebSocket-Key"])
        mask, message = secrets.token_bytes(4), b"hello"
        masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(message))
        connection.sendall(bytes([0x81, 0x80 | len(message)]) + mask + masked)
        length = stream.read(2)[1]
        return status, stream.read(length).decode()
