"""nginx as docs/production.md has it, with sites of other people beside it."""

import getpass
import re
import signal
import subprocess
import textwrap
from contextlib import contextmanager, suppress

from tests.support import manual, nginx
from tests.support.servers import wait_for_port

# One line for each request: what `tests.support.watch` reads.
LOG_FORMAT = r"$status\t$host\t$request_method\t$request_uri\t$sent_http_location\t$upstream_addr"
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
# What docs/web-client.md asks of a page that uses the web client.
_POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'"


def adapted(block, *, name, upstream, ports, tls, plain, certificate):
    """``block`` with the names, ports and paths of a place; nothing else is changed."""
    block = re.sub(r"server_name [^;]+;", f"server_name {name};", block)
    block = re.sub(r"(upstream|http:/)([ /])authsite\b", rf"\1\2{upstream}", block)
    servers = " ".join(f"server 127.0.0.1:{port};" for port in ports)
    block = re.sub(r"(?:server 127\.0\.0\.1:\d+;\s*)+", f"{servers} ", block)
    block = re.sub(r"(?m)^\s*listen \[::\].*\n", "", block)
    block = re.sub(r"listen 443\b", f"listen 127.0.0.1:{tls}", block)
    block = re.sub(r"listen 80\b", f"listen 127.0.0.1:{plain}", block)
    # The tests read a separate log: see LOG_FORMAT.
    block = re.sub(r"(?m)^\s*(?:log_format|access_log|error_log) [^;]+;\n", "", block)
    return re.sub(r"(ssl_certificate(?:_key)?) [^;]+;", rf"\1 {certificate};", block)


class Front:
    """One nginx at the ports ``tls`` and ``plain``; ``folder`` has its log and configuration."""

    def __init__(self, folder, certificate, tls, plain):
        folder.mkdir()
        self.folder, self.certificate, self.tls, self.plain = folder, certificate, tls, plain
        self.access_log = folder / "access.log"
        self._parts = []

    def authsite(self, name, upstream, ports):
        """The documented servers at ``name``, before servers at ``ports``."""
        block = manual.nginx()
        if self._parts:  # nginx takes each zone once
            block = re.sub(r"(?m)^limit_conn_zone.*\n", "", block)
        self._parts.append(
            adapted(
                block, name=name, upstream=upstream, ports=ports,
                tls=self.tls, plain=self.plain, certificate=self.certificate,
            )
        )  # fmt: skip

    def application(self, name, block, port, upstream="authsite"):
        """The servers in ``block`` at ``name``, before a server at ``port``."""
        self._parts.append(
            adapted(
                block, name=name, upstream=upstream, ports=[port],
                tls=self.tls, plain=self.plain, certificate=self.certificate,
            )
        )  # fmt: skip

    def site(self, *names, folder=None, calls=""):
        """An empty page at ``names``; with the scripts of ``folder``, which may call ``calls``."""
        scripts = f"root {folder};" if folder else ""
        policy = f'add_header Content-Security-Policy "{_POLICY} {calls}";' if folder else ""
        self._parts.append(f"""\
server {{
    listen 127.0.0.1:{self.tls} ssl;
    server_name {" ".join(names)};
    ssl_certificate {self.certificate};
    ssl_certificate_key {self.certificate};
    types {{ text/html html; text/javascript js; }}
    default_type text/html;
    {policy}
    {scripts}
    location = / {{ return 200 "<!doctype html><title>a page</title>"; }}
    location = /favicon.ico {{ return 204; }}
}}
""")

    @contextmanager
    def running(self):
        """nginx until the end of the block; it is stopped by its process id."""
        config, log = self.folder / "nginx.conf", self.folder / "nginx.log"
        config.write_text(self._config(log))
        process = subprocess.Popen(
            [nginx.available(), "-e", log, "-p", self.folder, "-c", config],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            try:
                wait_for_port(self.tls, process)
            except RuntimeError as error:
                raise RuntimeError(f"nginx: {error}:\n{log.read_text()}") from None
            yield
        finally:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            process.wait(15)

    def _config(self, log):
        paths = "".join(f"    {name}_temp_path {self.folder}/{name};\n" for name in _TEMPORARY)
        parts = textwrap.indent("\n".join(self._parts), "    ")
        return f"""\
daemon off;
worker_processes 1;
user {getpass.getuser()};
pid {self.folder}/nginx.pid;
error_log {log} warn;
events {{ worker_connections 512; }}
http {{
    log_format watched '{LOG_FORMAT}';
    access_log {self.access_log} watched;
{paths}
{parts}
}}
"""
