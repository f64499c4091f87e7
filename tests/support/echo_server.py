"""``python -m tests.support.echo_server asgi PORT HOST``: a WSGI application that echoes its input.

``asgi``: behind the ASGI bridge of ``authsite serve``; ``wsgi``: on Granian's own WSGI interface.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from authsite.server.asgi import AsgiBridge
from authsite.server.worker import end_with_parent

TIMEOUT = 30  # seconds that /wait waits for its release at most


def wsgi():
    """The application itself."""
    return echo


def asgi():
    """The application as ``authsite serve`` runs it."""
    end_with_parent()
    return AsgiBridge(echo, threads=2, active=2)


def echo(environ, start_response):
    """The environ as JSON, without WebOb's own keys.

    ``/raise`` raises; ``/wait`` waits for the file ``release``.

    ``/process`` tells what of the process's own environment is in the environ instead.
    """
    folder = Path(os.environ["ECHO_FOLDER"])
    if environ["PATH_INFO"] == "/raise":
        raise RuntimeError("as asked")
    if environ["PATH_INFO"] == "/wait":
        (folder / "waiting").touch()
        end = time.monotonic() + TIMEOUT
        while not (folder / "release").exists() and time.monotonic() < end:
            time.sleep(0.02)
    try:
        body = environ["wsgi.input"].read().decode("latin-1")
    except OSError as error:
        body = type(error).__name__
    seen = {
        name: value
        for name, value in environ.items()
        if isinstance(value, str | bool | tuple)
        and (name not in os.environ or name == "PATH_INFO")
        and not name.startswith("webob.")
    }
    if environ["PATH_INFO"] == "/process":
        seen = {"shared": sorted(os.environ.keys() & environ.keys())}
    answer = json.dumps({**seen, "body": body}).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("X-Twice", "1"),
                              ("X-Twice", "2"), ("Content-Length", str(len(answer)))])  # fmt: skip
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [answer]


@contextmanager
def standing(kind, folder, host="127.0.0.1"):
    """The application as a process of one worker; yields its port and the process."""
    from tests.support.servers import free_port, stop, wait_for_port  # not in the worker

    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.echo_server", kind, str(port), host],
        env={**os.environ, "ECHO_FOLDER": str(folder)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for_port(port, process, host)
        yield port, process
    finally:
        stop(process)


def children(pid):
    """The processes that ``pid`` started (Linux)."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def open_files(pid):
    """How many files and connections ``pid`` has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def runs(pid):
    """Whether ``pid`` still runs (one that was not waited for does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def main(kind, port, host):
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces

    Granian(
        f"tests.support.echo_server:{kind}", factory=True, address=host, port=int(port),
        interface=Interfaces.ASGINL if kind == "asgi" else Interfaces.WSGI,
        http=HTTPModes.http1, websockets=False,
    ).serve()  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
