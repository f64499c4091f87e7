"""A real PgBouncer in transaction mode, in front of a `tests.support.postgres.Cluster`."""

import atexit
import functools
import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from tests.support.postgres import NAME
from tests.support.servers import free_port, wait_for_port


def available():
    """The program's path, or None."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@contextmanager
def in_front_of(cluster, *, size=4):
    """The URL of a pooler with ``size`` connections to PostgreSQL."""
    process, port = start(cluster.folder, f"host=127.0.0.1 port={cluster.port} user={NAME}", size)
    try:
        yield cluster.url.replace(f":{cluster.port}/", f":{port}/")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(15)


@functools.cache
def before_tests(host, port, user):
    """The port of a pooler before the PostgreSQL of the tests; it ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix="authsite-pooler-"))
    if not os.getuid():
        shutil.chown(folder, Path(host).owner())  # who may use PostgreSQL's socket
    process, port = start(folder, f"host={host} port={port} user={user}", 20)
    atexit.register(process.send_signal, signal.SIGINT)
    return port


def start(folder, server, size):
    """Start a pooler; its process and its port."""
    port = free_port()
    config = folder / f"pgbouncer-{port}.ini"
    config.write_text(f"""\
[databases]
* = {server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 500
ignore_startup_parameters = options,extra_float_digits
server_login_retry = 1
""")
    user = [] if os.getuid() else ["-u", folder.owner()]
    with open(folder / "pgbouncer.log", "ab") as log:
        process = subprocess.Popen([available(), *user, config], stdout=log, stderr=log)
    wait_for_port(port, process)
    return process, port
