"""A real nginx that ends TLS in front of a server; all its files are in one folder."""

import os
import shutil
import signal
import socket
import ssl
import subprocess
import time
from contextlib import contextmanager, suppress

import httpx

from tests.support.certificates import make_certificate

NAME = "auth.example.test"
ADDRESS = "127.0.0.2"  # where the proxy talks to the server from; its clients are elsewhere
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def available():
    """The program's path, or None."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def base_url(port):
    """The address that people use."""
    return f"https://{NAME}:{port}"


class Proxied:
    """Clients that reach the address that people use without a name server."""

    def __init__(self, port, certificate):
        self.port = port
        self.base_url = base_url(port)
        self._trust = ssl.create_default_context(cafile=certificate)

    def request(self, method, url, *, headers=None, source="127.0.0.1", **more):
        """A request to ``url`` (a path, or a whole one of ours) from the address ``source``."""
        path = url.removeprefix(self.base_url)
        assert path.startswith("/"), f"{url} leads elsewhere"
        transport = httpx.HTTPTransport(verify=self._trust, local_address=source)
        with httpx.Client(transport=transport, timeout=30) as client:
            return client.request(
                method, f"https://127.0.0.1:{self.port}{path}",
                headers={"Host": f"{NAME}:{self.port}"} | (headers or {}),
                extensions={"sni_hostname": NAME}, **more,
            )  # fmt: skip

    def get(self, url, **more):
        return self.request("GET", url, **more)

    def post(self, url, **more):
        return self.request("POST", url, **more)


@contextmanager
def in_front_of(backend, port, folder, *, name=NAME, certificate=None):
    """nginx at ``port`` before ``http://127.0.0.1:backend``; yields a `Proxied`.

    It is stopped by its process id. ``certificate`` is a path, of a self-signed one by default.
    """
    certificate = certificate or make_certificate(folder, name)
    config = folder / "nginx.conf"
    config.write_text(_config(port, backend, folder, certificate, name))
    process = subprocess.Popen(
        [available(), "-e", str(folder / "nginx.log"), "-p", str(folder), "-c", str(config)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait(port, process, folder / "nginx.log")
        yield Proxied(port, certificate)
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        process.wait(15)


def _config(port, backend, folder, certificate, name):
    paths = "".join(f"    {name}_temp_path {folder}/{name};\n" for name in _TEMPORARY)
    return f"""\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log warn;
events {{ worker_connections 64; }}
http {{
    access_log off;
{paths}
    limit_conn_zone $binary_remote_addr zone=addresses:1m;
    client_header_timeout 10s;
    client_body_timeout 10s;
    upstream authsite {{ server 127.0.0.1:{backend}; keepalive 32; keepalive_timeout 20s; }}
    server {{
        listen 127.0.0.1:{port} ssl;
        server_name {name};
        ssl_certificate {certificate};
        ssl_certificate_key {certificate};
        limit_conn addresses 100;
        location / {{
            proxy_pass http://authsite;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_bind {ADDRESS};
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto $scheme;
            proxy_set_header X-Forwarded-Host $server_name:$server_port;
        }}
    }}
}}
"""


def _wait(port, process, log):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"nginx did not start:\n{log.read_text() if log.exists() else ''}")
