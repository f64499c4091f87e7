"""Real server processes, on 127.0.0.1 and a free port; each is stopped by its own id."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import httpx

from tests.support.site import SECRET

START_SECONDS = 30


def free_port():
    """A port that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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


@contextmanager
def serving(ini, workers=1, **variables):
    """``authsite serve`` as a process; yields an httpx client for it, with ``.log`` (a path)."""
    port = free_port()
    log = ini.with_suffix(f".{port}.log")
    command = [sys.executable, "-m", "authsite", "serve", "--config", str(ini), "--port", str(port),
               "--workers", str(workers)]  # fmt: skip
    with open(log, "wb") as output:
        # Servers run unmeasured: coverage would slow them to a third, and all they serve is
        # covered in process; commands are measured (pyproject.toml).
        unmeasured = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env={**unmeasured, **variables}
        )
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30)
    try:
        _wait(client, process, log, workers)
        client.log = log
        client.process = process
        yield client
    finally:
        client.close()  # the server waits for idle connections before it ends
        stop(process)


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
    return subprocess.run(
        [sys.executable, "-m", "authsite", *arguments, "--config", str(ini)],
        input=stdin, capture_output=True, text=True, timeout=120,
        env={**os.environ, **variables},
    )  # fmt: skip


def _wait(client, process, log, workers):
    """Until every worker runs: one that is told to stop while it starts does not hear it."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if log.read_text(errors="replace").count("Started worker-") >= workers:
            with suppress(httpx.TransportError):
                client.get("/v1/user")
                return
        time.sleep(0.05)
    text = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(errors="replace"))
    raise RuntimeError(f"the server did not start:\n{text}")
