"""nginx and Caddy as in examples/: the application gets all cookies but authsite's."""

import getpass
import json
import os
import re
import shutil
import subprocess
import threading
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from authsite.platform.http import cookies
from authsite.testing import bearer_token, session_cookie
from tests.conftest import need
from tests.support import databases, nginx
from tests.support.forwarding import EXAMPLES
from tests.support.installed import CHECKOUT
from tests.support.servers import free_port, serving, stop, wait_for_port, write_ini
from tests.support.site import Site, bearer

pytestmark = pytest.mark.slow

HOST = "one.example.test"
EMAIL = "ann@example.com"
# What Caddy removes: each run of our cookies, with what separates it from the next one.
REMOVED = rf"(^|;[ \t]*)(?:(?:{cookies.NAMES})=[^;]*(?:;[ \t]*|$))+"
OWN = [
    "authsite-csrf=c", "__Host-authsite-csrf=c", "device=d", "__Host-device=d", "refreshToken=r",
    "__Host-authsite-refresh-web=w", "authsite-next=/a", "authsite-address=a", "authsite=k",
    "authsite-language=de", "__Host-authsite=k", "__Secure-authsite-guard=g", "__Secure-authsite=k",
    "authsite-guard=g", "device=", 'device="a"',
]  # fmt: skip
FOREIGN = [
    "theme=dark", "authsite2=1", "Authsite=1", "xauthsite=1", "__Host-session=1", "devices=1",
    "a=authsite=1", 'q="a', 'b"', "authsite-guardx=1", "__Secure-device=1", "refreshtoken=1",
]  # fmt: skip


class Echo(BaseHTTPRequestHandler):
    """An application that says which cookies it gets."""

    def do_GET(self):
        body = json.dumps(self.headers.get_all("Cookie", [])).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def echo():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def caddy(folder, port, authsite, app):
    need(shutil.which("caddy"), "Caddy")
    text = (EXAMPLES / "caddy" / "Caddyfile").read_text()
    for former, new in (
        ("localhost:8080", f"{HOST}:{port}"),
        ("127.0.0.1:6543", f"127.0.0.1:{authsite}"),
        ("127.0.0.1:8081", f"127.0.0.1:{app}"),
    ):
        assert former in text
        text = text.replace(former, new)
    (folder / "Caddyfile").write_text(text)
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    command = ["caddy", "run", "--config", folder / "Caddyfile", "--adapter", "caddyfile"]
    with running(command, folder, port, env=home):
        yield


@contextmanager
def nginx_host(folder, port, authsite, app):
    """examples/nginx/hosts.conf, without TLS."""
    program = nginx.available()
    need(program, "nginx")
    for name in ("guard.conf", "identity.conf", "maps.conf"):
        shutil.copy(EXAMPLES / "nginx" / name, folder)
    block = (EXAMPLES / "nginx" / "hosts.conf").read_text()
    block = block.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};")
    block = re.sub(r"(?m)^\s*ssl_certificate.*\n", "", block)
    block = block.replace("server_name app.example.org;", f"server_name {HOST};")
    block = block.replace("127.0.0.1:8081", f"127.0.0.1:{app}")
    names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{name}_temp_path {folder}/{name};\n" for name in names)
    (folder / "nginx.conf").write_text(
        f"daemon off; user {getpass.getuser()}; pid {folder}/nginx.pid; events {{}}\n"
        f"http {{ access_log off;\n{temporary}"
        f"upstream authsite {{ server 127.0.0.1:{authsite}; }}\n{block}}}\n"
    )
    command = [program, "-e", folder / "nginx.log", "-p", folder, "-c", folder / "nginx.conf"]
    with running(command, folder, port):
        yield


@contextmanager
def running(command, folder, port, env=None):
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env={**os.environ, **(env or {})}
        )
    try:
        try:
            wait_for_port(port, process)
        except RuntimeError as error:
            raise RuntimeError(f"{error}:\n{(folder / 'log').read_text()}") from None
        yield
    finally:
        stop(process)


class Behind:
    """An application behind a proxy: what it gets for a Cookie header."""

    def __init__(self, site, port):
        self.port = port
        self.session = "=".join(session_cookie(site.app, EMAIL))
        self.bearer = bearer(bearer_token(site.app, EMAIL))

    def gets(self, path, *sent, status=200):
        headers = {"Host": f"{HOST}:{self.port}", "Cookie": "; ".join(sent), "Accept": "text/html"}
        if path.startswith("/api/"):
            headers |= self.bearer
        answer = httpx.get(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        assert answer.status_code == status, answer.text
        if status != 200:
            return None
        [*values] = answer.json()
        return [pair.strip() for pair in "; ".join(values).split(";") if pair.strip()]


@pytest.fixture(scope="module", params=["one host", "a domain"])
def settings(request):
    return {"session_cookie_domain": "example.test"} if request.param == "a domain" else {}


@pytest.fixture(scope="module", params=[nginx_host, caddy], ids=["nginx", "Caddy"])
def behind(request, settings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("proxy")
    folder.chmod(0o755)
    port = free_port()
    below = "/auth" if request.param is caddy else ""
    own = {"base_url": f"http://{HOST}:{port}{below}", "trusted_proxies": "127.0.0.1", **settings}
    url = databases.migrated(databases.new_url("sqlite", folder, "removal"))
    with ExitStack() as stack:
        site = Site(url, **own)
        stack.callback(site.database.dispose)
        site.user(EMAIL, confirmed=True)
        server = stack.enter_context(serving(write_ini(folder, url, **own)))
        app = stack.enter_context(echo())
        stack.enter_context(request.param(folder, port, server.base_url.port, app))
        yield Behind(site, port)


@pytest.mark.parametrize("path", ["/orders", "/api/reports"])
def test_the_application_gets_all_cookies_but_ours(behind, path):
    session = behind.session
    assert behind.gets(path, session) == []
    assert behind.gets(path, session, *OWN[:8]) == []
    assert behind.gets(path, session, *FOREIGN) == FOREIGN
    assert behind.gets(path, *FOREIGN, session) == FOREIGN
    other = [each for each in OWN if each.partition("=")[0] != session.partition("=")[0]]
    mixed = [each for pair in zip(FOREIGN, other, strict=False) for each in pair]
    assert behind.gets(path, session, *mixed) == FOREIGN
    assert behind.gets(path, *other[:4], *mixed, *other, session) == FOREIGN


def test_a_hundred_cookies_of_ours_hide_none(behind):
    """An application can set some for its own host, so that a proxy has more to remove."""
    many = [each for n in range(100) for each in (f"a{n}={n}", f"authsite-address={n}")]
    left = [each for each in many if each.startswith("a") and "authsite" not in each]
    assert behind.gets("/orders", *many, behind.session) == left


def test_without_a_session_nothing_passes(behind):
    behind.gets("/orders", *FOREIGN, status=302)


def test_the_pattern_for_caddy_is_that_of_the_code():
    line = f"header_up Cookie `{REMOVED}` `$1`"
    for path in (EXAMPLES / "caddy" / "Caddyfile", CHECKOUT / "docs" / "forward-auth.md"):
        assert line in path.read_text(), f"in {path.name} the line should be:\n{line}"
