"""Real server processes, on 127.0.0.1 and a free port; each is stopped by its own id."""

import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import httpx

from tests.support import commands
from tests.support.site import SECRET

START_SECONDS = 120  # a process that ends before is noticed at once


# Each test process has its own thousand ports, below those that the system gives to
# connections: nothing takes one between the choice and its use.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_ports = itertools.cycle(range(15_000 + _WORKER % 16 * 1000, 16_000 + _WORKER % 16 * 1000))
for _ in range(os.getpid() % 1000):  # apart from another run on this machine
    next(_ports)


def free_port():
    """A port that no process listens on at the moment."""
    for port in _ports:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


OWN_ADDRESS = {"AUTHSITE_BASE_URL": "http://127.0.0.1:{port}"}  # for `serving`


def write_ini(folder, url, **settings):
    """An ini file for ``authsite serve`` in ``folder``."""
    lines = {
        "secret": SECRET,
        "database-url": url,
        "bcrypt-cost": "10",
        "limits": "off",
    } | {key.replace("_", "-"): value for key, value in settings.items()}
    path = folder / f"site-{free_port()}.ini"
    text = "".join(f"authsite.{key} = {value}\n" for key, value in lines.items())
    path.write_text(f"[app:main]\nuse = egg:authsite\n{text}")
    return path


_PYTHON = re.compile("PYTHON").match


@contextmanager
def serving(ini, workers=1, *, port=None, options=(), **variables):
    """``authsite serve`` as a process; yields an httpx client for it, with ``.log`` (a path).

    ``{port}`` in a variable is the server's. With a variable of Python's own, the server is a new
    interpreter, which reads it; otherwise a fork (`commands.start`). ``options``: further ones.
    """
    port = port or free_port()
    variables = {name: value.replace("{port}", str(port)) for name, value in variables.items()}
    log = ini.with_suffix(f".{port}.log")
    arguments = ["serve", "--config", ini, "--port", port, "--workers", workers, *options]
    with open(os.devnull, "rb") as nothing, open(log, "wb") as output:
        env = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")}
        start = _interpreter if any(map(_PYTHON, variables)) else commands.start
        process = start(arguments, nothing, output, output, env={**env, **variables})
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30)
    try:
        _wait(client, process, log, workers)
        client.log = log
        client.process = process
        yield client
    finally:
        client.close()  # the server waits for idle connections before it ends
        stop(process)


def started(ini, *hosts, **variables):
    """A service on one port for each of the hosts, all started at the same moment."""
    port = str(free_port())
    command = [sys.executable, "-m", "authsite", "serve", "--config", str(ini), "--workers", "2",
               "--port", port]  # fmt: skip
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    env = {**os.environ, **variables}
    return [
        subprocess.Popen([*command, "--host", host], text=True, env=env, **streams)
        for host in hosts
    ], int(port)


def _interpreter(arguments, stdin, stdout, stderr, *, env):
    command = [sys.executable, "-m", "authsite", *map(str, arguments)]
    return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, env=env)


def stop(process):
    """End a server, by its id."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()


def wait_for_port(port, process, host="127.0.0.1"):
    """Until ``process`` listens."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection((host, port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError("the server did not start")


def authsite(*arguments, ini, stdin=None, **variables):
    """Run a command of the command line; the finished process with its text output."""
    given = {**os.environ, **variables}
    return commands.run([*arguments, "--config", ini], stdin=stdin, env=given)


def _wait(client, process, log, workers):
    """Until every worker runs and answers."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if log.read_text(errors="replace").count("Started worker-") >= workers:
            with suppress(httpx.TransportError):
                client.get("/v1/user")
                return
        time.sleep(0.05)
    text = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(errors="replace"))
    raise RuntimeError(f"the server did not start:\n{text}")
