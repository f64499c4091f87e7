"""The application in ``examples/`` behind nginx and forward auth: TLS, and a separate host."""

import shutil
import ssl
import subprocess
import sys
from contextlib import contextmanager

from tests.support import databases
from tests.support.certificates import Authority
from tests.support.front import Front
from tests.support.installed import CHECKOUT
from tests.support.servers import free_port, serving, stop, wait_for_port, write_ini
from tests.support.site import WEB, Site
from tests.support.world import Caller

AUTH, APP = "auth.example.test", "app.example.test"
ONE = "one.example.test"  # has authsite, a site and an API
EXAMPLES = CHECKOUT / "examples"
SETTINGS = {
    "base_url": f"https://{AUTH}",
    "trusted_proxies": "127.0.0.1",
    "return_origins": f"https://{APP}",
    "session_cookie_domain": "example.test",
    **WEB,
}


class Guarded:
    """nginx as docs/production.md and examples/nginx/hosts.conf have it, and what is behind it."""

    def __init__(self, folder, stack):
        self.authority = Authority(folder)
        certificate = self.authority.sign(AUTH, APP, ONE)
        self.front = Front(folder / "nginx", certificate, free_port(), free_port())
        url = databases.migrated(databases.new_url("sqlite", folder, "guarded"))
        self.site = Site(url, **SETTINGS)
        stack.callback(self.site.database.dispose)
        self.keys = self.site.first_party("web")
        self._stack = stack
        self.server = stack.enter_context(serving(write_ini(folder, url, **SETTINGS)))
        (folder / "manual").mkdir()
        (folder / "manual" / "index.html").write_text("<!doctype html><title>Manual</title>")
        for name in ("guard.conf", "identity.conf", "maps.conf"):
            shutil.copy(EXAMPLES / "nginx" / name, self.front.folder)
        block = (EXAMPLES / "nginx" / "hosts.conf").read_text()
        self.front.authsite(AUTH, "authsite", [self.server.base_url.port])
        block = block.replace("/srv/manual/", f"{folder}/manual/")
        self.front.application(APP, block, stack.enter_context(application(folder)))
        below = {**WEB, "base_url": f"https://{ONE}/auth", "trusted_proxies": "127.0.0.1"}
        one = stack.enter_context(serving(write_ini(folder, url, **below)))
        self.front.application(ONE, one_host(), one.base_url.port, upstream="one")
        stack.enter_context(self.front.running())

    def client(self, host=APP):
        """An HTTP client at ``host``, which asks for pages and follows no redirect."""
        trust = ssl.create_default_context(cafile=self.authority.path)
        made = self._stack.enter_context(Caller(self.front, host, trust, "127.0.0.1"))
        made.headers["Accept"] = "text/html"
        return made


def one_host():
    """The server of examples/nginx/nginx.conf and its upstream, with TLS."""
    text = (EXAMPLES / "nginx" / "nginx.conf").read_text()
    server = text[text.index("    server {") : text.rindex("}")]
    tls = "listen 443 ssl; ssl_certificate x; ssl_certificate_key x; types { text/html html; }"
    server = server.replace("listen 127.0.0.1:8080;", tls)
    server = server.replace("root site;", f"root {EXAMPLES}/nginx/site;")
    return f"upstream authsite {{ server 127.0.0.1:6543; }}\n{server}"


@contextmanager
def application(folder):
    """``examples/forward-auth/app.py`` as a process; yields its port."""
    port = free_port()
    text = (EXAMPLES / "forward-auth" / "app.py").read_text()
    path = folder / "app.py"
    path.write_text(text.replace("PORT = 8081", f"PORT = {port}"))
    process = subprocess.Popen([sys.executable, path])
    try:
        wait_for_port(port, process)
        yield port
    finally:
        stop(process)
