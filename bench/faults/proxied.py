"""R28: two servers behind nginx are restarted, one after the other, as in an update."""

import os
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support import nginx
from tests.support.servers import free_port, serving, wait_for_port

from . import invariants
from .rig import WORKERS, prepared, summary
from .rows import none
from .traffic import Traffic, good, invalid

# As docs/operations.md has it for several machines; `location /` as in deploy/nginx/authsite.conf.
CONFIG = """\
pid nginx.pid;
error_log nginx.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    proxy_connect_timeout 2s;
    upstream authsite {{ {servers} keepalive 32; keepalive_timeout 20s; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://authsite;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $remote_addr;
        }}
    }}
}}
"""


def rolling(short):
    """R28: SIGTERM to each server in turn, and a new one on its port."""
    with prepared() as made, two_servers(made) as (port, servers):
        time.sleep(1)
        traffic = Traffic(port, made.client, made.sessions)
        with traffic:
            for server in servers:
                time.sleep(5)
                server.stop()
                time.sleep(1)
                server.start()
            time.sleep(3 if short else 10)
        made.server, made.others = servers[0].client, [servers[1].client]
        failed = [a for a in traffic.answers if not good(a)]
        done = "two servers behind nginx restarted, one after the other"
        return [
            none("R28", done, f"failures ({summary(traffic.answers)})", len(failed)),
            none("R28", done, "valid tokens called invalid", len(invalid(traffic.answers))),
            invariants.check("R28", made, traffic),
        ]


class Server:
    """``authsite serve`` on a separate port, for as often as it is started.

    ``more``: further variables of its environment.
    """

    def __init__(self, made, **more):
        self.made, self.port, self._stack = made, free_port(), ExitStack()
        self._more = more

    def start(self):
        """Start it, and wait until it listens."""
        variables = {
            "AUTHSITE_ENV_FILE": os.devnull,
            "AUTHSITE_DATABASE_URL": self.made.postgres.url,
            "AUTHSITE_TRUSTED_PROXIES": "127.0.0.1",
            **self._more,
        }
        server = serving(self.made.ini, WORKERS, port=self.port, **variables)
        self.client = self._stack.enter_context(server)

    def stop(self):
        """SIGTERM, and wait for its end; does nothing if it does not run."""
        self._stack.close()


@contextmanager
def two_servers(made, **more):
    """Two servers of a `Rig` behind nginx; yields its port and the servers; ``more``: `Server`."""
    with ExitStack() as stack:
        servers = [Server(made, **more) for _ in range(2)]
        for server in servers:
            server.start()
            stack.callback(server.stop)
        made.server, made.others = servers[0].client, [servers[1].client]
        yield stack.enter_context(in_front_of(servers)), servers


@contextmanager
def in_front_of(servers):
    """nginx before ``servers``; yields its port."""
    port = free_port()
    upstream = " ".join(f"server 127.0.0.1:{server.port} fail_timeout=2s;" for server in servers)
    with tempfile.TemporaryDirectory(prefix="authsite-nginx-") as name:
        config = Path(name, "nginx.conf")
        config.write_text(CONFIG.format(servers=upstream, port=port))
        # In the foreground, so that it ends with this process.
        command = [nginx.available(), "-p", name, "-c", str(config), "-e", "nginx.log"]
        running = subprocess.Popen([*command, "-g", "daemon off;"])
        try:
            wait_for_port(port, running)
            yield port
        finally:
            running.terminate()
            running.wait(15)
